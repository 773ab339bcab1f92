package analysis

import (
	"fmt"

	"github.com/giverny/giverny/internal/codec"
	"github.com/giverny/giverny/schema"
)

// readersState is the name of the saved state that says which agent reads which port. Without it, a device that stopped
// reporting before the first interval of a new process would never be missed.
const readersState = "readers"

var readersFormat = codec.Format{Mark: "GRDR", Version: 1, Oldest: 1}

func (c *Core) saveReaders() schema.StageState {
	readers := c.window.Readers()
	return schema.StageState{Stage: readersState, Version: stateForm,
		Bytes: readersFormat.Seal(func(to *codec.Coder) { codeReaders(to, c.graph.Version(), &readers) })}
}

func (c *Core) loadReaders(states []schema.StageState) error {
	for _, saved := range states {
		if saved.Stage != readersState {
			continue
		}
		var readers []uint64
		err := checkForm(saved)
		if err == nil {
			err = readersFormat.Open(saved.Bytes, func(from *codec.Coder) { codeReaders(from, c.graph.Version(), &readers) })
		}
		if err == nil {
			err = c.window.Remember(readers)
		}
		return err
	}
	return nil
}

// codeReaders codes every agent once, and by port the number of its agent.
func codeReaders(c *codec.Coder, current uint64, readers *[]uint64) {
	version := current
	if c.Uint(&version, ^uint64(0)); version != current {
		c.Fail(fmt.Errorf("it belongs to version %016x of the fabric, the current version is %016x", version, current))
		return
	}
	agents, numbers := []uint64{0}, map[uint64]uint64{0: 0}
	for _, agent := range *readers {
		if _, known := numbers[agent]; !known {
			numbers[agent] = uint64(len(agents))
			agents = append(agents, agent)
		}
	}
	codec.Each(c, &agents, func(_ int, agent *uint64) { c.Uint(agent, ^uint64(0)) })
	if len(agents) == 0 {
		c.Damaged("no agents")
		return
	}
	codec.Each(c, readers, func(_ int, agent *uint64) {
		number := numbers[*agent]
		c.Uint(&number, uint64(len(agents)-1))
		if !c.Failed() {
			*agent = agents[number]
		}
	})
}
