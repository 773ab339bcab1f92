// Package importrules has the architecture of the project as a table, which package may import which, and checks the
// source code against it. Input: the root of a checkout. Output: the violations. It parses the files with go/parser,
// never through the build cache, and also checks the house rules that a parser can see: pure packages, package comments,
// names, init functions, import order, forbidden mentions.
package importrules

// Row has the permissions of one package, or of all below a folder if Package ends in "/..."; the
// row of a package takes precedence over that of a folder. Paths are relative to the module.
type Row struct {
	Package string
	May     []string // what it may import of the module, in addition to schema; "x/..." is x and all below, "..." all
	Tests   []string // what its tests may import in addition
	Kind    Kind
}

// Kind is a further constraint on a package.
type Kind int

const (
	Shell   Kind = iota // may do I/O
	Pure                // values in, values out: see pureFaults
	Testing             // supports tests: imported only by tests and other Testing packages, and by any test
)

// Everywhere are the packages that every package may import.
var Everywhere = []string{"schema", "internal/faults"}

// Architecture is the table. A package without a row is an error, and so is a row without a package.
var Architecture = []Row{
	// Vocabulary, and the topology of a fabric.
	{Package: "schema", Kind: Pure},
	{Package: "topology", May: []string{"internal/csvfault", "internal/dbcsv", "internal/plural", "internal/yamldoc"}, Kind: Pure},
	{Package: "topology/topologytest", May: []string{"topology"}, Kind: Testing},

	// Sources: from a device, a file or a scheduler to readings and events.
	{Package: "collectors", May: []string{"internal/plural"}},
	{Package: "collectors/...", May: []string{"collectors", "internal/boot", "internal/bounded", "internal/procgroup", "internal/retry", "topology"}, Tests: []string{"ingest/window"}},
	{Package: "collectors/bluewaters", May: []string{"collectors", "internal/decompress", "internal/retry", "topology"}, Tests: []string{"ingest/window"}},
	{Package: "collectors/prometheus", May: []string{"collectors", "collectors/feeds", "internal/bounded", "internal/secret"}, Tests: []string{"ingest/window", "topology"}},
	{Package: "collectors/nodes", May: []string{"internal/hostname", "topology"}, Kind: Pure},
	{Package: "collectors/jobline", May: []string{"collectors/nodes"}, Kind: Pure},
	{Package: "collectors/feeds", May: []string{"collectors/nodes", "internal/atomicfile", "internal/bounded", "internal/procgroup", "internal/retry"}, Tests: []string{"topology"}},
	{Package: "collectors/jobs", May: []string{"collectors/feeds", "collectors/jobline", "collectors/nodes", "internal/bounded", "internal/csvfault", "internal/incluster", "internal/plainfile", "internal/secret", "internal/slurmnumber", "internal/textmark", "internal/tlsfile", "topology"}, Tests: []string{"internal/test/kubernetes", "internal/test/slurm"}},
	{Package: "collectors/failures", May: []string{"collectors/feeds", "internal/plainfile"}, Tests: []string{"collectors/nodes", "internal/test/ibsim", "topology"}},
	{Package: "collectors/traffic", May: []string{"collectors/feeds", "internal/bounded", "internal/csvfault", "internal/plainfile"}},
	{Package: "collectors/registry", May: []string{"collectors/..."}},
	{Package: "collectors/collectortest", May: []string{"collectors", "internal/test/metric"}, Kind: Testing},

	// Transport, and assembling counters to one snapshot per interval.
	{Package: "ingest/envelope", May: []string{"internal/scratch"}, Kind: Pure},
	{Package: "ingest/clockcheck", Kind: Pure},
	{Package: "ingest/window", May: []string{"internal/scratch", "topology"}, Tests: []string{"internal/test/cputime"}, Kind: Pure},
	{Package: "ingest/recorded", May: []string{"internal/dbcsv"}, Kind: Pure},
	{Package: "ingest/offline", May: []string{"ingest/recorded", "ingest/window", "internal/dbcsv", "internal/decompress", "internal/plainfile", "segment/linkscsv", "topology"}},
	{Package: "ingest/spool", May: []string{"internal/atomicfile", "internal/dirlock"}},
	{Package: "ingest/kafka", May: []string{"ingest/envelope", "ingest/spool", "internal/boot", "internal/retry", "internal/secret", "internal/tlsfile"}, Tests: []string{"ingest/kafka/embedded"}},
	{Package: "ingest/kafka/embedded", May: []string{"ingest/kafka", "internal/dirlock"}, Tests: []string{"internal/secret"}},
	{Package: "ingest/kafka/lease", May: []string{"ingest/kafka", "internal/fence", "internal/retry"}, Tests: []string{"ingest/envelope", "ingest/kafka/embedded", "internal/boot", "internal/test/apachekafka"}},
	{Package: "ingest/emitter", May: []string{"ingest/envelope", "ingest/kafka"}, Tests: []string{"ingest/window"}},

	// Commands to agents and their results, and limits on actions.
	{Package: "command", May: []string{"command/safety", "ingest/envelope", "ingest/kafka", "internal/atomicfile", "internal/plainfile"}, Tests: []string{"ingest/kafka/embedded", "internal/test/apachekafka"}},
	{Package: "command/dispatch", May: []string{"command", "command/safety", "feedback/record", "store/read"}},
	{Package: "command/dispatch/dispatchtest", May: []string{"command", "command/dispatch", "feedback/record", "feedback/record/recordtest", "store/read"}, Kind: Testing},
	{Package: "command/safety", Kind: Pure},

	// Searches on demand: from a diagnosis to an agent, and back into the store.
	{Package: "search/known", May: []string{"search"}, Kind: Pure},
	{Package: "search/launch", May: []string{"command", "command/dispatch", "feedback/record", "internal/plural", "store/read"}},
	{Package: "search/ledger", Kind: Pure},
	{Package: "search/ondemand", May: []string{"command", "command/safety", "internal/retry", "search", "search/engine", "search/run"}},

	// Probes inside hosts: from a diagnosis to an agent, and back into the store.
	{Package: "hostping", Tests: []string{"hostping/simulated"}, Kind: Pure},
	{Package: "hostping/draw", May: []string{"hostping"}, Tests: []string{"hostping/simulated"}, Kind: Pure},
	{Package: "hostping/simulated", May: []string{"hostping"}, Kind: Pure},
	{Package: "hostping/run", May: []string{"hostping", "hostping/simulated"}},
	{Package: "hostping/bench", May: []string{"hostping", "hostping/run", "hostping/simulated"}},
	{Package: "hostping/bench/cmd", May: []string{"hostping", "hostping/bench", "hostping/simulated"}},
	{Package: "hostping/order", May: []string{"hostping"}, Kind: Pure},
	{Package: "hostping/local", May: []string{"hostping", "hostping/order", "hostping/prober", "hostping/run", "internal/atomicfile", "internal/plainfile", "internal/retry"}},
	{Package: "hostping/prober/probertest", May: []string{"hostping", "hostping/simulated"}, Kind: Testing},
	{Package: "hostping/ondemand", May: []string{"command", "command/safety", "hostping/local", "hostping/order"}, Tests: []string{"hostping"}},
	{Package: "hostping/launch", May: []string{"command", "command/dispatch", "feedback/record", "hostping", "hostping/order", "store/read"}},
	{Package: "hostping/utilisation", May: []string{"hostping", "internal/perftest", "internal/retry"}},
	{Package: "hostping/monitor", May: []string{"hostping", "hostping/local", "hostping/order", "hostping/utilisation"}},
	{Package: "hostping/prober", May: []string{"hostping", "internal/coprocess", "internal/perftest"}},

	// Analysis.
	{Package: "segment", May: []string{"internal/codec", "internal/scratch", "segment/linkset", "segment/merging", "segment/monet", "segment/trees", "segment/trees/backpressure", "topology"}, Tests: []string{"internal/test/cputime", "internal/test/stalls", "segment/bench", "segment/segmenttest"}, Kind: Pure},
	{Package: "segment/linkset", May: []string{"internal/scratch", "topology"}, Kind: Pure},
	{Package: "segment/merging", May: []string{"internal/scratch", "segment/linkset", "topology"}, Tests: []string{"internal/test/stalls", "segment", "segment/bench", "segment/segmenttest"}, Kind: Pure},
	{Package: "segment/monet", May: []string{"internal/scratch", "segment/linkset", "topology"}, Tests: []string{"internal/test/stalls", "segment", "segment/segmenttest"}, Kind: Pure},
	{Package: "segment/trees/index", May: []string{"internal/scratch", "segment/linkset"}, Kind: Pure},
	{Package: "segment/trees/backpressure", May: []string{"internal/median", "internal/scratch", "segment/linkset", "segment/trees/index", "topology"}, Tests: []string{"internal/test/stalls", "segment", "segment/bench", "segment/segmenttest"}, Kind: Pure},
	{Package: "segment/trees/layers", May: []string{"internal/median", "internal/scratch", "segment/linkset", "segment/trees/backpressure", "segment/trees/index"}, Tests: []string{"internal/test/stalls", "segment", "segment/bench", "segment/segmenttest", "topology"}, Kind: Pure},
	{Package: "segment/trees/spines", May: []string{"internal/median", "internal/scratch", "segment/linkset", "segment/trees/backpressure", "segment/trees/index", "segment/trees/layers"}, Tests: []string{"internal/test/stalls", "segment", "segment/bench", "segment/segmenttest"}, Kind: Pure},
	{Package: "segment/trees", May: []string{"internal/median", "internal/scratch", "segment/linkset", "segment/trees/...", "topology"}, Tests: []string{"internal/test/stalls", "segment", "segment/bench", "segment/segmenttest"}, Kind: Pure},
	{Package: "segment/segmenttest", May: []string{"internal/test/stalls", "segment", "segment/bench", "segment/tracking", "topology"}, Kind: Testing},
	{Package: "segment/tracking", May: []string{"internal/codec", "internal/plural", "internal/scratch", "topology"}, Tests: []string{"segment", "simulate/scenario"}, Kind: Pure},
	{Package: "segment/linkscsv", May: []string{"internal/csvfault", "internal/decompress", "topology"}, Kind: Pure},
	{Package: "segment/hotlinks", May: []string{"internal/plural", "topology"}, Kind: Pure},
	{Package: "segment/bench", May: []string{"simulate/fluid", "simulate/packet", "simulate/routing", "topology"}, Tests: []string{"segment"}, Kind: Pure},
	{Package: "segment/bench/cmd", May: []string{"internal/table", "segment", "segment/bench", "segment/tracking", "topology"}},
	{Package: "linkhealth", May: []string{"internal/codec", "topology"}, Tests: []string{"collectors/collectortest", "collectors/perfquery", "ingest/window"}, Kind: Pure},
	{Package: "diagnose/offline", May: []string{"analysis", "collectors/jobline", "collectors/nodes", "internal/csvfault", "internal/decompress", "internal/plural", "segment/linkscsv", "topology"}, Kind: Pure},
	{Package: "diagnose/listing", May: []string{"internal/plural", "topology"}, Kind: Pure},
	{Package: "diagnose/sitefiles", May: []string{"collectors/failures", "collectors/feeds", "collectors/jobs", "diagnose/offline", "internal/decompress", "internal/plainfile", "internal/plural"}},
	{Package: "diagnose/bench", May: []string{"ingest/window", "segment", "segment/tracking", "simulate/scenario", "simulate/telemetry", "topology"}, Tests: []string{"diagnose"}, Kind: Pure},
	{Package: "diagnose/bench/replay", May: []string{"diagnose/bench", "simulate/credits", "simulate/routing", "topology"}, Tests: []string{"diagnose"}, Kind: Pure},
	{Package: "diagnose/bench/cmd", May: []string{"diagnose", "diagnose/bench", "diagnose/bench/replay", "internal/table"}},
	{Package: "diagnose/correlation", Kind: Pure},
	{Package: "diagnose/routes", May: []string{"topology"}, Tests: []string{"simulate/routing"}, Kind: Pure},
	{Package: "diagnose/mitigation", May: []string{"internal/codec"}, Kind: Pure},
	{Package: "diagnose/root", May: []string{"diagnose/routes", "internal/scratch", "topology"}, Kind: Pure},
	{Package: "diagnose/root/roottest", May: []string{"diagnose/routes", "topology"}, Kind: Testing},
	{Package: "diagnose/history", May: []string{"diagnose/routes", "internal/codec", "topology"}, Tests: []string{"diagnose/root/roottest"}, Kind: Pure},
	{Package: "diagnose/ticket", May: []string{"diagnose/correlation", "diagnose/history", "diagnose/root", "internal/plural", "topology"}, Kind: Pure},
	{Package: "diagnose", May: []string{"diagnose/correlation", "diagnose/history", "diagnose/mitigation", "diagnose/root", "diagnose/routes", "diagnose/ticket", "internal/codec", "internal/scratch", "topology"}, Tests: []string{"analysis", "internal/test/cputime", "segment", "simulate/scenario"}, Kind: Pure},
	{Package: "analysis", May: []string{"diagnose", "ingest/clockcheck", "ingest/window", "internal/codec", "linkhealth", "segment", "segment/tracking", "topology"}, Tests: []string{"simulate/scenario"}, Kind: Pure},

	// The runtime of a fabric: sources, analysis, sinks.
	{Package: "pipeline", May: []string{"analysis", "ingest/clockcheck", "ingest/emitter", "ingest/envelope", "ingest/kafka", "ingest/window", "internal/plural", "internal/retry", "store", "store/read", "topology"}, Tests: []string{"ingest/kafka/embedded", "ingest/spool"}},

	// The simulator and its ground truth.
	{Package: "simulate/routing", May: []string{"topology"}, Kind: Pure},
	{Package: "simulate/heap", Kind: Pure},
	{Package: "simulate/fluid", May: []string{"internal/scratch", "simulate/heap", "simulate/routing", "topology"}, Kind: Pure},
	{Package: "simulate/credits", May: []string{"simulate/heap", "simulate/routing", "topology"}, Kind: Pure},
	{Package: "simulate/telemetry", May: []string{"simulate/fluid", "simulate/routing", "topology"}, Kind: Pure},
	{Package: "simulate/packet", May: []string{"simulate/heap", "simulate/routing", "topology"}, Tests: []string{"internal/test/cputime"}, Kind: Pure},
	{Package: "simulate/incident", May: []string{"collective", "collective/detect", "collective/network", "collective/plans", "simulate/packet", "simulate/routing", "topology"}, Kind: Pure},
	{Package: "simulate/pattern", May: []string{"internal/csvfault", "internal/yamldoc", "simulate/packet", "topology"}, Tests: []string{"internal/test/cputime", "simulate/routing"}, Kind: Pure},
	{Package: "simulate/scenario", May: []string{"internal/yamldoc", "simulate/...", "topology"}, Tests: []string{"segment"}, Kind: Pure},
	{Package: "simulate/playback", May: []string{"ingest/emitter", "ingest/window", "internal/plainfile", "internal/retry", "segment/linkscsv", "simulate/scenario"}},

	// Searches for the workloads that break an RDMA subsystem.
	{Package: "search", May: []string{"internal/yamldoc"}, Tests: []string{"search/bench", "search/simulated"}, Kind: Pure},
	{Package: "search/simulated", May: []string{"search"}, Kind: Pure},
	{Package: "search/engine", May: []string{"collectors/ethtool", "internal/coprocess", "internal/perftest", "internal/plainfile", "internal/retry", "internal/settings", "search", "search/simulated"}},
	{Package: "search/engine/enginetest", May: []string{"search", "search/simulated"}, Kind: Testing},
	{Package: "search/run", May: []string{"internal/atomicfile", "internal/plainfile", "search", "search/engine"}, Tests: []string{"collectors/ibsysfs", "search/simulated"}},
	{Package: "search/report", May: []string{"internal/svg", "search"}, Kind: Pure},
	{Package: "search/listing", May: []string{"internal/plural", "search", "search/report", "search/run"}},
	{Package: "search/bench", May: []string{"search"}, Tests: []string{"search/simulated"}, Kind: Pure},
	{Package: "search/bench/cmd", May: []string{"search", "search/bench", "search/simulated"}},

	// Collectives: from step records to the critical path and its culprits.
	{Package: "collective", May: []string{"collective/network", "collective/partners", "internal/plural"}, Tests: []string{"collective/plans", "collective/plans/planstest", "collective/report", "internal/test/cputime"}, Kind: Pure},
	{Package: "collective/network", Kind: Pure},
	{Package: "collective/partners", Kind: Pure},
	{Package: "collective/plans", May: []string{"collective", "collective/partners", "internal/plural"}, Kind: Pure},
	{Package: "collective/plans/planstest", May: []string{"collective", "collective/plans"}, Kind: Testing},
	{Package: "collective/bench", May: []string{"collective", "collective/detect", "simulate/incident"}, Tests: []string{"internal/test/cputime"}, Kind: Pure},
	{Package: "collective/bench/cmd", May: []string{"collective", "collective/bench", "collective/detect", "simulate/incident"}},
	{Package: "collective/detect", Kind: Pure},
	{Package: "collective/flightrecorder", May: []string{"collective"}, Kind: Pure},
	{Package: "collective/nccl", May: []string{"collective", "internal/plural"}, Kind: Pure},
	{Package: "collective/simulated", May: []string{"collective", "collective/network", "internal/textmark"}, Kind: Pure},
	{Package: "collective/draw", May: []string{"collective", "internal/svg"}, Kind: Pure},
	{Package: "collective/vedrfolnir", May: []string{"collective", "collective/network", "internal/textmark"}},
	{Package: "collective/records", May: []string{"collective", "collective/flightrecorder", "collective/nccl", "collective/plans", "collective/simulated", "collective/vedrfolnir", "internal/bounded", "internal/plainfile", "internal/textmark"}},
	{Package: "collective/watch", May: []string{"collective", "collective/records", "collective/report", "collectors/nodes", "internal/atomicfile", "internal/bounded", "internal/plural"}},
	{Package: "collective/report", May: []string{"collective", "collective/network", "simulate/routing", "topology"}, Kind: Pure},

	// Storage, and the engine in a child process.
	{Package: "store", May: []string{"collective", "collective/report", "hostping", "hostping/order", "internal/fence", "internal/retry", "internal/secret", "internal/sqlquote", "internal/tlsfile", "topology"}, Tests: []string{"store/engine"}},
	{Package: "store/engine", May: []string{"internal/dirlock", "internal/retry", "store/engine/..."}},
	{Package: "store/bench", May: []string{"store/read"}},
	{Package: "store/bench/cmd", May: []string{"store", "store/bench", "store/engine", "store/read"}},
	{Package: "store/read", May: []string{"collective", "collective/report", "hostping", "hostping/order", "store", "topology"}, Tests: []string{"hostping/run", "hostping/simulated", "store/engine"}},
	{Package: "store/engine/chdb"},
	{Package: "store/engine/httpapi", May: []string{"internal/sqlquote", "store/engine/chdb"}},
	{Package: "store/engine/readonly", May: []string{"internal/secret", "internal/tlsfile"}},
	{Package: "store/engine/enginetest", May: []string{"store/engine", "store/engine/chdb"}, Kind: Testing},
	{Package: "store/storetest", Kind: Testing},

	{Package: "report", May: []string{"internal/svg", "store/read"}, Tests: []string{"store"}},

	// Actions on the results, outside of this program.
	{Package: "feedback", May: []string{"collectors/nodes", "feedback/...", "topology"}, Tests: []string{"internal/secret", "internal/test/kubernetes"}},
	{Package: "feedback/score", May: []string{"internal/plural", "topology"}, Kind: Pure},
	{Package: "feedback/policy", May: []string{"command/safety"}, Kind: Pure},
	{Package: "feedback/notice", Kind: Pure},
	{Package: "feedback/record"},
	{Package: "feedback/record/recordtest", May: []string{"feedback/record"}, Kind: Testing},
	{Package: "feedback/reconcile", May: []string{"feedback/policy", "feedback/record", "internal/atomicfile", "internal/dirlock", "internal/retry"}},
	{Package: "feedback/slurm", May: []string{"feedback/policy", "feedback/reconcile", "internal/bounded", "internal/procgroup", "internal/secret", "internal/slurmnumber", "internal/tlsfile"}},
	{Package: "feedback/kubernetes", May: []string{"command/safety", "feedback/policy", "feedback/reconcile", "feedback/record", "internal/bounded", "internal/hostname", "internal/incluster", "internal/plainfile", "internal/retry", "internal/secret", "internal/tlsfile"}},
	{Package: "feedback/webhook", May: []string{"feedback/notice", "feedback/record", "internal/atomicfile", "internal/dirlock", "internal/retry", "internal/secret", "internal/tlsfile"}},
	{Package: "feedback/alertmanager", May: []string{"feedback/notice", "feedback/record", "internal/plural", "internal/secret", "internal/tlsfile", "topology"}},

	// User interfaces and APIs.
	{Package: "dashboards/grafana", Tests: []string{"store"}, Kind: Pure},
	{Package: "dashboards", May: []string{"collective", "collective/report", "dashboards/operation", "feedback/score", "hostping", "internal/access", "internal/plural", "internal/problem", "search/known", "search/report", "store/read", "topology"}, Tests: []string{"analysis", "collective/detect", "dashboards/openapi", "hostping/order", "hostping/run", "hostping/simulated", "simulate/incident", "simulate/scenario", "store", "store/engine"}},
	{Package: "dashboards/operation", May: []string{"internal/access", "internal/problem"}},
	{Package: "dashboards/openapi", May: []string{"dashboards/operation", "internal/problem", "internal/test/refdocs"}, Kind: Testing},

	// The binary connects them all; internal packages support it, or the tests.
	{Package: "cmd/giverny", May: []string{"..."}},
	{Package: "internal/app", May: []string{"..."}},
	{Package: "internal/agent", May: []string{"collective/report", "collective/watch", "collectors/...", "command", "feedback/slurm", "hostping", "hostping/local", "hostping/monitor", "hostping/ondemand", "hostping/order", "hostping/prober", "hostping/utilisation", "ingest/emitter", "ingest/envelope", "ingest/kafka", "ingest/recorded", "ingest/spool", "internal/atomicfile", "internal/config", "internal/lifecycle", "internal/ops", "internal/plural", "search/ondemand", "search/run", "topology"}},
	{Package: "internal/access", May: []string{"internal/plainfile", "internal/problem", "internal/reload", "internal/secret"}},
	{Package: "internal/atomicfile"},
	{Package: "internal/boot"},
	{Package: "internal/bounded"},
	{Package: "internal/codec", Kind: Pure},
	{Package: "internal/scratch", Kind: Pure},
	{Package: "internal/config", May: []string{"analysis", "collective/watch", "collectors", "collectors/registry", "command", "command/safety", "dashboards", "feedback", "hostping/launch", "hostping/local", "hostping/monitor", "hostping/ondemand", "hostping/order", "hostping/utilisation", "ingest/kafka", "ingest/kafka/embedded", "ingest/spool", "internal/logs", "internal/ops", "internal/plainfile", "internal/settings", "internal/textmark", "search/known", "search/launch", "search/ondemand", "store", "store/engine", "store/engine/readonly", "topology"}},
	{Package: "internal/coprocess", May: []string{"internal/retry"}},
	{Package: "internal/demo", May: []string{"ingest/emitter", "internal/retry", "simulate/playback", "simulate/scenario", "topology"}},
	{Package: "internal/dirlock"},
	{Package: "internal/fence"},
	{Package: "internal/hostname", Kind: Pure},
	{Package: "internal/incluster"},
	{Package: "internal/dbcsv", Kind: Pure},
	{Package: "internal/decompress", May: []string{"internal/textmark"}, Kind: Pure},
	{Package: "internal/csvfault", May: []string{"internal/plural"}, Kind: Pure},
	{Package: "internal/faults", Kind: Pure},
	{Package: "internal/logs"},
	{Package: "internal/sdnotify"},
	{Package: "internal/secret", May: []string{"internal/plainfile"}},
	{Package: "internal/lifecycle", May: []string{"internal/retry"}},
	{Package: "internal/procgroup"},
	{Package: "internal/perftest", May: []string{"internal/bounded", "internal/procgroup"}},
	{Package: "internal/median", Kind: Pure},
	{Package: "internal/ops", May: []string{"internal/access", "internal/problem", "internal/tlsfile"}},
	{Package: "internal/plainfile", May: []string{"internal/bounded", "internal/textmark"}},
	{Package: "internal/plural", Kind: Pure},
	{Package: "internal/problem"},
	{Package: "internal/reload"},
	{Package: "internal/retry"},
	{Package: "internal/settings", May: []string{"internal/yamldoc"}},
	{Package: "internal/slurmnumber", Kind: Pure},
	{Package: "internal/sqlquote", Kind: Pure},
	{Package: "internal/svg", Kind: Pure},
	{Package: "internal/table", Kind: Pure},
	{Package: "internal/textmark", Kind: Pure},
	{Package: "internal/tlsfile", May: []string{"internal/plainfile", "internal/reload"}},
	{Package: "internal/yamldoc", Kind: Pure},
	{Package: "internal/importrules", Kind: Testing},
	{Package: "internal/test/refdocs", May: []string{"internal/settings"}, Kind: Testing},
	{Package: "internal/test/repo", Kind: Testing},
	{Package: "internal/test/stalls", May: []string{"segment/linkset", "topology", "topology/topologytest"}, Kind: Testing},
	{Package: "internal/test/ibsim", May: []string{"internal/test/proc"}, Kind: Testing},
	{Package: "internal/test/apachekafka", May: []string{"internal/test/freeport", "internal/test/repo", "internal/test/proc"}, Kind: Testing},
	{Package: "internal/test/await", Kind: Testing},
	{Package: "internal/test/chaos", May: []string{"internal/test/proc"}, Kind: Testing},
	{Package: "internal/test/cputime", Kind: Testing},
	{Package: "internal/test/proc", Kind: Testing},
	{Package: "internal/test/slurm", May: []string{"internal/test/freeport", "internal/test/proc"}, Kind: Testing},
	{Package: "internal/test/kubernetes", May: []string{"internal/test/freeport", "internal/test/proc", "internal/test/repo"}, Kind: Testing},
	{Package: "internal/test/script", Kind: Testing},
	{Package: "internal/test/sysfs", Kind: Testing},
	{Package: "internal/test/freeport", Kind: Testing},
	{Package: "internal/test/metric", Kind: Testing},
	{Package: "internal/test/journal", Kind: Testing},
	{Package: "internal/test/pipes", Kind: Testing},
	{Package: "internal/test/racing", Kind: Testing},
	{Package: "internal/test/rdmavm", May: []string{"internal/test/freeport", "internal/test/repo"}, Kind: Testing},

	// Tests of files that are not Go.
	{Package: "deploy/compose"},
	{Package: "deploy/systemd"},
}
