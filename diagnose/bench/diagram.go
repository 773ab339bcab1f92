package bench

import (
	"fmt"
	"io"
)

// Size of the reliability diagram, in pixels.
const (
	diagramSide   = 320
	diagramMargin = 48
	diagramBar    = 26
)

// Diagram draws the reliability diagram of a score as SVG. Each tenth of confidence is a bar as high as the share of
// verdicts that are right, on the diagonal if calibrated; its shade and the number at its foot are its share of all
// verdicts.
func Diagram(w io.Writer, s *Score) {
	const whole = diagramSide + 2*diagramMargin
	x := func(v float64) float64 { return diagramMargin + v*diagramSide }
	y := func(v float64) float64 { return diagramMargin + (1-v)*diagramSide }
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12">`+"\n", whole, whole, whole, whole)
	fmt.Fprintf(w, `<rect width="%d" height="%d" fill="#ffffff"/>`+"\n", whole, whole)
	all := 0.
	for _, b := range s.Bins {
		all += b.Weight
	}
	for _, b := range s.Bins {
		if b.Weight == 0 {
			continue
		}
		right, confidence, of := b.Right/b.Weight, b.Confidence/b.Weight, b.Weight/all
		left, text := min(x(confidence)-diagramBar/2, x(1)-diagramBar), "#333333"
		if of > .5 {
			text = "#ffffff"
		}
		fmt.Fprintf(w, `<rect x="%.1f" y="%.1f" width="%d" height="%.1f" fill="#3b6ea5" fill-opacity="%.2f"/>`+"\n", left, y(right), diagramBar, right*diagramSide, .25+.75*of)
		fmt.Fprintf(w, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="%s" font-size="10">%.0f%%</text>`+"\n", left+diagramBar/2, y(0)-6, text, 100*of)
	}
	fmt.Fprintf(w, `<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="#b03a2e" stroke-dasharray="4 3"/>`+"\n", x(0), y(0), x(1), y(1))
	fmt.Fprintf(w, `<rect x="%d" y="%d" width="%d" height="%d" fill="none" stroke="#333333"/>`+"\n", diagramMargin, diagramMargin, diagramSide, diagramSide)
	for _, v := range []float64{0, .25, .5, .75, 1} {
		fmt.Fprintf(w, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#333333">%g</text>`+"\n", x(v), y(0)+16, v)
		fmt.Fprintf(w, `<text x="%.1f" y="%.1f" text-anchor="end" fill="#333333">%g</text>`+"\n", x(0)-6, y(v)+4, v)
	}
	fmt.Fprintf(w, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#333333">confidence</text>`+"\n", x(.5), y(0)+36)
	fmt.Fprintf(w, `<text transform="translate(%.1f %.1f) rotate(-90)" text-anchor="middle" fill="#333333">class is right</text>`+"\n", x(0)-34, y(.5))
	fmt.Fprintf(w, `<text x="%.1f" y="%.1f" text-anchor="middle" fill="#333333">%d verdicts on %d incidents; expected calibration error %.3f</text>`+"\n",
		x(.5), y(1)-20, s.Verdicts, s.Incidents, s.CalibrationError())
	fmt.Fprintln(w, `</svg>`)
}
