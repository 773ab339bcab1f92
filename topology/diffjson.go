package topology

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/giverny/giverny/schema"
)

// diffJSON is the JSON form of a Difference.
type diffJSON struct {
	Was            string             `json:"was_version"`
	Now            string             `json:"now_version"`
	DevicesAdded   []string           `json:"devices_added"`
	DevicesRemoved []string           `json:"devices_removed"`
	DevicesChanged []string           `json:"devices_changed"`
	LinksAdded     []schema.LinkID    `json:"links_added"`   // link IDs of the new version
	LinksRemoved   []schema.LinkID    `json:"links_removed"` // link IDs of the old version
	WentDown       []schema.LinkID    `json:"links_went_down"`
	CameUp         []schema.LinkID    `json:"links_came_up"`
	Rerated        []schema.LinkID    `json:"links_rerated"`
	Recabled       [][2]schema.LinkID `json:"links_recabled"` // ID of the old link, ID of the new one
	Renumbered     int                `json:"links_renumbered"`
	Changes        []string           `json:"changes"` // in words
}

// WriteJSON writes the difference as a JSON object. was and now are the graphs that were compared.
func (d *Difference) WriteJSON(w io.Writer, was, now *Graph) error {
	recabled := make([][2]schema.LinkID, len(d.Recabled))
	for i, r := range d.Recabled {
		recabled[i] = [2]schema.LinkID{r.Was, r.Now}
	}
	return json.NewEncoder(w).Encode(diffJSON{fmt.Sprintf("%016x", d.Was), fmt.Sprintf("%016x", d.Now),
		listed(d.DevicesAdded), listed(d.DevicesRemoved), listed(d.DevicesChanged), listed(d.LinksAdded), listed(d.LinksRemoved),
		listed(d.WentDown), listed(d.CameUp), listed(d.Rerated), recabled, d.Renumbered, listed(d.Lines(was, now))})
}

// listed returns the list, or an empty one for nil, so that JSON shows [].
func listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
