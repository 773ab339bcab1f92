// Package scenario simulates scripted scenarios of a fabric, called stories. The input is a script in YAML (a fabric,
// jobs with their traffic, and timed events); the output, for each interval, is the readings of the devices, the
// events in the logs, and the ground truth. The same script and seed give the same bytes. It has no clock and no I/O
// except the given reader; the caller decides how fast a story plays.
//
// # Scripts
//
// All times count from the start of the story. Unknown keys are errors.
//
//	name: two-jobs
//	about: one sentence
//	fabric:
//	  name: gemini                  # of the fabric, default "gemini"
//	  topology: torus:8x8x8         # as topology.Parse takes it
//	  kind: gemini                  # or infiniband, roce: whose counters
//	  routing: directional          # see simulate/routing; default by topology
//	  send_gigabytes_per_second: 10     # what an endpoint's NIC injects; default: what
//	                                    # its links carry, 10 for a torus' routers
//	  receive_gigabytes_per_second: 10  # and ejects; default: the same
//	  victim_ratio: 2               # see fluid.Config
//	  reroute_after: 2s             # a failure is routed around so much later
//	  storage: {every: 64, first: 7, hosts: "0-3,9"}   # file system nodes; they run no jobs
//	interval: 1s                    # a reading per port and interval
//	step: 1s                        # the fabric is solved so often; divides interval
//	duration: 90s
//	telemetry: {floor_percent: 1.1, wave_percent: 0.5, spread_percent: 0.35,
//	  loss_percent: 0.1, late_percent: 0, skew_millis: 1}
//	protection: {high_percent: 40, low_percent: 10, links: 100, hold: 20s}
//	workload: {jobs: 200, fill_percent: 80, gigabytes_per_second: 0.4}
//	jobs:
//	  - id: "17"
//	    name: Enzo
//	    user: astro
//	    at: [0, 0, 0]               # a box on a torus: its corner ...
//	    size: [4, 4, 4]             # ... and extent; it may wrap round
//	    hosts: "0-31"               # or a list of host numbers, or names: "n[01-16],n20" ...
//	    nodes: 32                   # ... or a number, placed where there is room
//	    start: 20s
//	    end: 80s                    # default: the end of the story
//	    traffic:
//	      - pattern: all_to_all     # see Pattern
//	        gigabytes_per_second: 1.5   # what each node sends (read: receives)
//	        from: 5s                # after the job's start
//	        to: 50s
//	        ramp: 3s                # rises so long
//	        period: 30s             # in every period ...
//	        active: 10s             # ... so long ...
//	        offset: 5s              # ... beginning here
//	        wave_percent: 10        # comes and goes slowly
//	        distance: 8             # of pattern shift
//	        target: 3               # of pattern many_to_one, a node of the job
//	        stripes: 4              # of read and write: storage nodes per node
//	events:
//	  - after: 40s
//	    do: fail_link               # see Action
//	    object: 3,4,5 X+            # DEVICE PORT, or DEVICE
//	    for: 30s                    # undone after that; default never
//	    percent: 20                 # of slow_link, slow_host: what is left
//	    period: 10s                 # of flap_link: fails so often ...
//	    down: 2s                    # ... for so long
//	    say: A cable dies.          # a story event; alone with do left out
package scenario
