package jobs

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/giverny/giverny/collectors/feeds"
)

// podSet is the pods of an API server. One that cannot be parsed costs nothing but itself: it stays as it was last read, and
// if it never was, its job is not taken for ended.
type podSet struct {
	pods   map[string]*Pod   // by UID
	unread map[string]string // IDs of the jobs of pods that were never parsed, by UID
}

func newPodSet() *podSet { return &podSet{map[string]*Pod{}, map[string]string{}} }

var errNoUID = errors.New("no metadata.uid")

// put adds a pod or replaces it, or counts it as dropped if it could not be parsed: then p is what parsePod returned with
// the error. before has the pods as they were.
func (s *podSet) put(p *Pod, err error, grouping *PodGrouping, before *podSet, drops *feeds.Drops) {
	uid := p.Metadata.UID
	if uid == "" {
		err = cmp.Or(err, errNoUID)
	}
	if err == nil {
		s.pods[uid] = p
		delete(s.unread, uid)
		return
	}
	drops.Refuse(feeds.Malformed, p.where(), err.Error())
	if former := before.pods[uid]; former != nil {
		s.pods[uid] = former
	} else if id, ok := grouping.jobID(p); ok {
		s.unread[cmp.Or(uid, p.where())] = id
	}
}

func (s *podSet) remove(uid string) {
	delete(s.pods, uid)
	delete(s.unread, uid)
}

// where names a pod in the log.
func (p *Pod) where() string {
	if p.Metadata.Name == "" {
		return "a pod without a name"
	}
	return fmt.Sprintf("pod %s/%s", p.Metadata.Namespace, p.Metadata.Name)
}
