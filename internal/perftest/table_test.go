package perftest_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/giverny/giverny/internal/perftest"
)

const latencyText = ` ---------------------------------------------------------------------------------------
                    RDMA_Write Latency Test
 Connection type : RC		Using SRQ      : OFF
 local address: LID 0000 QPN 0x0012 PSN 0x9da2e1 RKey 0x0005f4 VAddr 0x005620d1a00000
---------------------------------------------------------------------------------------
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] 
#, usec
1, 6.25
2, 6.5
3, 9.75

#, usec
1, 6.25
2, 6.5
3, 9.75

 131072  4          6.25           9.75         6.50     	       7.50        	1.20		9.75   		9.75   
---------------------------------------------------------------------------------------
`

// Output of ib_write_lat of Debian's perftest 4.5 over rdma_rxe, shortened; the header appears twice.
const latency45Text = ` #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] 
#, usec
1, 1861.45
2, 3936.51
3, 4108.15
---------------------------------------------------------------------------------------
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] 
 1       4          1861.45        4108.15      3936.51  	       3432.42     	906.85 		4108.15 		4108.15
---------------------------------------------------------------------------------------
`

func TestLatenciesOfPerftest45(t *testing.T) {
	got, err := perftest.Latencies(latency45Text)
	if err != nil || got.Bytes != 1 || got.TypicalMicros != 3936.51 || !slices.Equal(got.SamplesMicros, []float64{1861.45, 3936.51, 4108.15}) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestLatencies(t *testing.T) {
	got, err := perftest.Latencies(latencyText)
	if err != nil || got.Bytes != 131072 || got.TypicalMicros != 6.5 || !slices.Equal(got.SamplesMicros, []float64{6.25, 6.5, 9.75}) {
		t.Errorf("%+v, %v", got, err)
	}
	for name, text := range map[string]string{
		"nothing":        "",
		"cycles":         strings.ReplaceAll(latencyText, "usec\n", "cycles\n"),
		"no row":         " #bytes #iterations t_min[usec] t_max[usec] t_typical[usec]\n",
		"another header": " #bytes #iterations t_avg[usec] tps average\n 2 5 1.0 1.0\n",
		"nonsense":       strings.Replace(latencyText, "1, 6.25", "1, fast", 1),
		"negative":       strings.Replace(latencyText, "1, 6.25", "1, -4", 1),
	} {
		if got, err := perftest.Latencies(text); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestBandwidths(t *testing.T) {
	const header = " #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n"
	got, err := perftest.Bandwidths(header + " 131072     1000             98.10              97.90              0.093362\n")
	if want := []perftest.Bandwidth{{Bytes: 131072, Messages: 1000, Gbps: 97.9, Mpps: 0.093362}}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	if got, err := perftest.Bandwidths(header + "no numbers\n"); err == nil {
		t.Errorf("%+v", got)
	}
}

// If perftest measures a CPU frequency of 0, latencies are infinite and rates 0.
func TestResultsWithoutAClock(t *testing.T) {
	if _, err := perftest.Latencies(strings.NewReplacer("1, 1861.45", "1, inf", "1861.45", "inf").Replace(latency45Text)); !errors.Is(err, perftest.ErrClock) {
		t.Errorf("latencies: %v", err)
	}
	for _, c := range []struct {
		row  string
		want error
	}{
		{" 4096       238              0.00               0.00   		   0.000000", perftest.ErrClock},
		{" 4096       5144             0.00               0.08   		   0.002572", nil},
		{" 4096       0                0.00               0.00   		   0.000000", nil},
	} {
		rows, err := perftest.Bandwidths(" #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]\n" + c.row + "\n")
		if err != nil {
			t.Fatal(err)
		}
		if err := rows[0].Check(); !errors.Is(err, c.want) {
			t.Errorf("%q: %v; want %v", c.row, err, c.want)
		}
	}
}
