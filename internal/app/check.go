package app

import (
	"errors"

	"github.com/giverny/giverny/store/engine"
)

// Check creates every part of every role and joins all errors. A missing library of the
// embedded engine is accepted: agents do not need it.
func (p *Process) Check(fabrics []Fabric) error {
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
