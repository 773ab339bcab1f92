package fluid

// Nominal is the undisturbed capacity of a resource in bytes per second.
func (m *Model) Nominal(r Resource) float64 { return m.nominal[r] }

// Len is the number of flows.
func (f *Flows) Len() int { return len(f.demand) }

// Demand of flow i at Scale 1, in bytes per second.
func (f *Flows) Demand(i int) float64 { return f.demand[i] }
