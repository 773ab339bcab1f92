package app

import (
	"errors"
	"os"
	"strings"

	"github.com/giverny/giverny/store/engine"
)

// Check creates every part of every role and checks the files, programs and folders that the configuration names. It joins
// all errors, each with its place in the configuration.
func (p *Process) Check(fabrics []Fabric) error {
	err := p.checkParts(fabrics)
	missing, doubts := p.cfg.Needs()
	if doubts = p.cfg.Located(doubts, os.Environ()); doubts != nil {
		for _, doubt := range strings.Split(doubts.Error(), "\n") {
			p.log.Warn("config: not there yet", "what", doubt)
		}
	}
	return p.cfg.Located(errors.Join(err, notIn(err, missing)), os.Environ())
}

// notIn returns the errors about keys of which err has none: parts that read a file when they are built report it too.
func notIn(err, more error) error {
	joined, ok := more.(interface{ Unwrap() []error })
	if err == nil || !ok {
		return more
	}
	var fresh []error
	for _, e := range joined.Unwrap() {
		key, _, _ := strings.Cut(e.Error(), ": ")
		if !strings.Contains("\n"+err.Error(), "\n"+key+": ") {
			fresh = append(fresh, e)
		}
	}
	return errors.Join(fresh...)
}

// checkParts creates every part of every role. A missing library of the embedded engine is accepted: agents do not need it.
func (p *Process) checkParts(fabrics []Fabric) error {
	kafkaErr, storeErr := p.useKafka(), p.useStore()
	if p.cfg.Store.Library == "" && errors.Is(storeErr, engine.ErrNoLibrary) {
		p.log.Warn("config: embedded store not checked: its library is not installed on this host; analyze, serve and up need it", "library", "libchdb.so")
		storeErr = nil
	}
	r := Role{Serve: true, Analyse: p.client != nil, Collect: p.client != nil && p.cfg.Collect.Enabled()}
	_, err := p.assemble(r, fabrics)
	_, _, guardErr := p.guard()
	_, signErr := p.signer() // of the commands sent from this host
	return errors.Join(kafkaErr, storeErr, err, guardErr, signErr)
}
