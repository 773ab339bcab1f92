package segment

// statisticalMethod cuts what is hot into pieces of constant stall, told apart by
// tests against the noise of the data. It has no threshold to tune:
//
//  1. the noise of the calm background and its growth with the stall are
//     estimated; levels are counted in it from there on (noise);
//  2. only hot links in warm surroundings, and the gaps between them, are looked
//     at further: the rest is one piece, the background (hotPart);
//  3. touching pieces, at first single links, are joined while the difference of
//     their means is not worth the border between them (pieces): the piecewise
//     constant functional of Mumford and Shah (CPAM 42, 1989), greedily (Koepfler,
//     Lopez and Morel, SIAM J. Numer. Anal. 31, 1994), in rounds of mutually best
//     pairs, so that the order of the links does not matter;
//  4. pieces too small to be a region go to the likest neighbour;
//  5. pieces that are alike only at their edges, where stall falls off, are taken
//     apart again by what lies inside them (cores);
//  6. pieces whose stall is the sum of two neighbours' are told to be both's
//     (sums).
//
// A missing link counts for nothing and makes one place of its two switches. All
// sums are of whole numbers: the numbering of links does not show in them.
type statisticalMethod struct {
	noise  noise
	hot    hotPart
	pieces pieces
	cores  cores
	sums   sums

	minLinks int32
	minMean  float64
	overlap  bool
}

// Constants of the method, the same for every fabric and every data set.
const (
	// borderPrice is what a unit of border costs, in variances of the noise. A
	// link that is surrounded by another piece at one of its switches has
	// borderUnits there.
	borderPrice = 2.5
	borderUnits = 5
	// neck is the border per link of the smaller piece under which a border
	// costs less: bodies that touch at a narrow place are rarely one.
	neck = .8
	// hotShare and hotSigmas part hot links from calm ones: a share of the mean
	// at which a region counts, or so many deviations of the noise above the
	// background, what is more. Surroundings are warm that many deviations above
	// it, and from strongSigmas on a link is hot whatever they are.
	hotShare     = .8
	hotSigmas    = 2.5
	strongSigmas = 8
)

func newStatisticalMethod(adj *adjacency, cfg Config) *statisticalMethod {
	return &statisticalMethod{
		noise: newNoise(adj), hot: newHotPart(adj),
		pieces: pieces{price: borderPrice}, cores: cores{inner: pieces{price: innerPrice}},
		minLinks: int32(cfg.MinLinks), minMean: cfg.MinMeanPercent, overlap: cfg.Overlap,
	}
}

func (m *statisticalMethod) segment(values []float32, out *partition) {
	m.noise.measure(values, m.minMean)
	m.hot.find(values, m.noise.marks(m.minMean), m.minLinks > 1)
	if len(m.hot.links) == 0 {
		return
	}
	m.noise.fitSlope(values, &m.hot)
	m.pieces.begin(values, &m.hot, &m.noise)
	m.pieces.mergeAll(m.minLinks)
	m.cores.split(&m.pieces, &m.noise)
	m.sums.explain(&m.pieces, values, &m.hot, &m.noise, m.minMean, m.overlap)
	m.sums.emit(&m.pieces, &m.hot, out)
}
