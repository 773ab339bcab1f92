package jobs

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/giverny/giverny/collectors/feeds"
	"github.com/giverny/giverny/internal/slurmnumber"
	"github.com/giverny/giverny/schema"
)

// SlurmOptions are how to parse Slurm's JSON.
type SlurmOptions struct {
	// RawIDs uses job_id instead of array_job_id_array_task_id as the ID of an array element.
	RawIDs bool
}

// ReadSlurmJSON parses the output of `squeue --json` and slurmrestd's slurm/vX/jobs, in the formats v0.0.36 to
// v0.0.43, and that of `sacct --json` and slurmdbd/vX/jobs. Jobs are decoded one by one, so that memory does not
// grow with the response; malformed jobs are counted and skipped. Errors reported in the response are returned as
// errors.
func ReadSlurmJSON(r io.Reader, name string, opt SlurmOptions) (List, error) {
	list := List{Complete: true, name: name, unit: "job"}
	in := json.NewDecoder(r)
	found, reported := false, ""
	err := eachKey(in, func(key string) error {
		switch key {
		case "jobs":
			found = true
			return eachElement(in, func(text json.RawMessage) {
				var j slurmJob
				list.place++
				if err := json.Unmarshal(text, &j); err != nil {
					list.loseSlurm(text, err, opt)
					return
				}
				j.addTo(&list, opt)
			})
		case "errors":
			var errs []slurmError
			var text json.RawMessage
			if err := in.Decode(&text); err != nil {
				return err
			}
			if json.Unmarshal(text, &errs) == nil {
				for _, e := range errs {
					reported = strings.TrimSpace(reported + " " + e.text())
				}
			}
			return nil
		}
		var skipped json.RawMessage
		return in.Decode(&skipped)
	})
	switch {
	case err != nil:
		list.Complete = false
		return list, fmt.Errorf("%s: JSON of Slurm: %w", name, explain(err))
	case reported != "":
		list.Complete = false
		return list, fmt.Errorf("%s: Slurm reports: %.300s", name, reported)
	case !found:
		list.Complete = false
		return list, fmt.Errorf("%s: no key \"jobs\"; want the output of `squeue --json`", name)
	}
	return list, nil
}

// explain rephrases an unexpected end of input.
func explain(err error) error {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.EOF) {
		return fmt.Errorf("empty, or cut off (%w)", err)
	}
	return err
}

type slurmError struct {
	Error       string `json:"error"`
	Description string `json:"description"`
}

func (e slurmError) text() string {
	return strings.TrimSpace(strings.Join([]string{e.Error, e.Description}, " "))
}

// eachKey visits the keys of the next object; visit consumes the value.
func eachKey(in *json.Decoder, visit func(key string) error) error {
	open, err := in.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('{') {
		return fmt.Errorf("want an object, not %v", open)
	}
	for in.More() {
		key, err := in.Token()
		if err != nil {
			return err
		}
		if err := visit(fmt.Sprint(key)); err != nil {
			return err
		}
	}
	_, err = in.Token()
	return err
}

// eachElement visits the elements of the next array; null counts as an empty one.
func eachElement(in *json.Decoder, visit func(text json.RawMessage)) error {
	open, err := in.Token()
	if err != nil || open == nil {
		return err
	}
	if open != json.Delim('[') {
		return fmt.Errorf("want an array, not %v", open)
	}
	for in.More() {
		var text json.RawMessage
		if err := in.Decode(&text); err != nil {
			return err
		}
		visit(text)
	}
	_, err = in.Token()
	return err
}

// instantOfSeconds converts seconds since 1970; 0 if they are none or beyond the year 2200.
func instantOfSeconds(n slurmnumber.Number) schema.Instant {
	if n.Value <= 0 || n.Value > 7_258_118_400 {
		return 0
	}
	return schema.Instant(n.Value * int64(time.Second))
}

// words is a string or a list of strings.
type words []string

// UnmarshalJSON accepts both; anything else is empty.
func (w *words) UnmarshalJSON(text []byte) error {
	*w = nil
	var one string
	if json.Unmarshal(text, &one) == nil {
		if one != "" {
			*w = words{one}
		}
		return nil
	}
	var many []string
	if json.Unmarshal(text, &many) == nil {
		*w = many
	}
	return nil
}

// slurmID has the fields that identify a job.
type slurmID struct {
	JobID       slurmnumber.Number `json:"job_id"`
	ArrayJobID  slurmnumber.Number `json:"array_job_id"`
	ArrayTaskID slurmnumber.Number `json:"array_task_id"`
	Array       slurmArray         `json:"array"` // slurmdbd
	HetJobID    slurmnumber.Number `json:"het_job_id"`
	HetOffset   slurmnumber.Number `json:"het_job_offset"`
	Het         slurmHet           `json:"het"` // slurmdbd
}

// slurmJob has the fields used of a job.
type slurmJob struct {
	slurmID
	Name       words              `json:"name"`
	UserName   words              `json:"user_name"`
	User       words              `json:"user"` // slurmdbd
	UserID     slurmnumber.Number `json:"user_id"`
	JobState   words              `json:"job_state"`
	State      slurmState         `json:"state"` // slurmdbd
	StartTime  slurmnumber.Number `json:"start_time"`
	EndTime    slurmnumber.Number `json:"end_time"`
	ResizeTime slurmnumber.Number `json:"resize_time"` // when its nodes changed; also of an earlier run
	Time       slurmTimes         `json:"time"`        // slurmdbd
	Nodes      words              `json:"nodes"`       // a host list
	Resources  slurmNodeSet       `json:"job_resources"`
}

type (
	slurmTimes struct{ Start, End slurmnumber.Number }
	slurmArray struct {
		JobID  slurmnumber.Number `json:"job_id"`
		TaskID slurmnumber.Number `json:"task_id"`
	}
	slurmHet struct {
		JobID  slurmnumber.Number `json:"job_id"`
		Offset slurmnumber.Number `json:"job_offset"`
	}
)

// slurmState is slurmdbd's {"current":"RUNNING"}, or a list.
type slurmState words

// UnmarshalJSON accepts both.
func (s *slurmState) UnmarshalJSON(text []byte) error {
	var object struct{ Current words }
	if json.Unmarshal(text, &object) == nil {
		*s = slurmState(object.Current)
		return nil
	}
	return (*words)(s).UnmarshalJSON(text)
}

// slurmNodeSet is the nodes in job_resources: a host list up to v0.0.39; from v0.0.40 on an object with a host
// list and the allocation; also allocated_nodes as a list or, in v0.0.36, as an object keyed by number.
type slurmNodeSet []string

// UnmarshalJSON accepts all of them; without nodes it is empty.
func (s *slurmNodeSet) UnmarshalJSON(text []byte) error {
	*s = nil
	var object struct {
		Nodes     json.RawMessage `json:"nodes"`
		Allocated json.RawMessage `json:"allocated_nodes"`
	}
	if json.Unmarshal(text, &object) != nil {
		return nil
	}
	var list words
	if list.UnmarshalJSON(object.Nodes) == nil && len(list) > 0 {
		*s = slurmNodeSet(list)
		return nil
	}
	var set struct {
		List       words           `json:"list"`
		Allocation json.RawMessage `json:"allocation"`
	}
	if json.Unmarshal(object.Nodes, &set) == nil {
		if *s = slurmNodeSet(set.List); len(*s) > 0 {
			return nil
		}
		if *s = allocatedNames(set.Allocation); len(*s) > 0 {
			return nil
		}
	}
	*s = allocatedNames(object.Allocated)
	return nil
}

func allocatedNames(text json.RawMessage) (names []string) {
	type node struct {
		Name     string `json:"name"`
		NodeName string `json:"nodename"`
	}
	add := func(n node) {
		if name := strings.TrimSpace(n.Name + n.NodeName); name != "" {
			names = append(names, name)
		}
	}
	var list []node
	var byNumber map[string]node
	if json.Unmarshal(text, &list) == nil {
		for _, n := range list {
			add(n)
		}
	} else if json.Unmarshal(text, &byNumber) == nil {
		for _, n := range byNumber {
			add(n)
		}
		slices.Sort(names)
	}
	return names
}

// loseSlurm drops a job that cannot be decoded.
func (l *List) loseSlurm(text json.RawMessage, cause error, opt SlurmOptions) {
	var id slurmID
	if json.Unmarshal(text, &id) != nil || id.id(opt) == "" {
		l.lose("", feeds.Malformed, cause.Error())
		return
	}
	l.lose(id.id(opt), feeds.Malformed, fmt.Sprintf("job %s: %v", id.id(opt), cause))
}

// addTo adds a job to the list.
func (j *slurmJob) addTo(list *List, opt SlurmOptions) {
	state, start, end := j.JobState, j.StartTime, j.EndTime
	if len(state) == 0 {
		state = words(j.State)
	}
	if !start.Set {
		start, end = j.Time.Start, j.Time.End
	}
	job := schema.Job{ID: j.id(opt), Name: strings.Join(j.Name, " "), User: j.user(), Start: instantOfSeconds(start), End: instantOfSeconds(end),
		State: strings.Join(state, ",")}
	var hosts []string
	sources := []string(j.Nodes)
	if len(sources) == 0 {
		sources = j.Resources
	}
	for _, text := range sources {
		more, err := slurmNodes(text)
		if err != nil {
			list.lose(job.ID, feeds.Malformed, fmt.Sprintf("job %s: nodes: %v", job.ID, err))
			return
		}
		hosts = append(hosts, more...)
	}
	phase := slurmPhase(strings.Join(state, " "), job.End)
	switch {
	case phase == Running && start.Value != 0 && job.Start == 0:
		list.lose(job.ID, feeds.NoTime, fmt.Sprintf("job %s: start_time %d: want seconds since 1970", job.ID, start.Value))
		return
	case phase == Running && job.Start == 0 && len(hosts) > 0:
		list.lose(job.ID, feeds.NoTime, fmt.Sprintf("job %s has nodes but no start_time", job.ID))
		return
	case phase != Waiting && job.Start == 0:
		phase = Waiting // cancelled before it started
	}
	if resized := instantOfSeconds(j.ResizeTime); phase != Waiting && resized > job.Start && (phase == Running || resized <= job.End) {
		job.Start = resized // as in sacct, the nodes before are those of an earlier run
	}
	list.add(job, hosts, phase)
}

func (j *slurmJob) user() string {
	for _, name := range []words{j.UserName, j.User} {
		if len(name) > 0 {
			return name[0]
		}
	}
	if j.UserID.Set {
		return strconv.FormatInt(j.UserID.Value, 10)
	}
	return ""
}

// id is the ID printed by sacct and squeue: 123, 123_4 of an array, 123+1 of a heterogeneous job.
func (j *slurmID) id(opt SlurmOptions) string {
	array, task := j.ArrayJobID, j.ArrayTaskID
	if array.Value == 0 {
		array, task = j.Array.JobID, j.Array.TaskID
	}
	het, offset := j.HetJobID, j.HetOffset
	if het.Value == 0 {
		het, offset = j.Het.JobID, j.Het.Offset
	}
	switch {
	case j.JobID.Value <= 0: // or not set
		return ""
	case !opt.RawIDs && array.Value > 0 && task.Set:
		return fmt.Sprintf("%d_%d", array.Value, task.Value)
	case !opt.RawIDs && het.Value > 0 && offset.Set:
		return fmt.Sprintf("%d+%d", het.Value, offset.Value)
	}
	return strconv.FormatInt(j.JobID.Value, 10)
}
