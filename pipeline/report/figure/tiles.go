package figure

import (
	"fmt"
	"math"
	"slices"
)

// Tiles shows maps of a square side by side: which kind each tile of it is.
type Tiles struct {
	X, Y   string // labels of the axes, which go from -1 to 1
	Keys   []string
	Panels []Panel
	Border bool // a dashed line at x = 0
}

// Panel has Size x Size tiles, the first row at the bottom: the index of each in Keys.
type Panel struct {
	Title string
	Size  int
	Kind  []int
}

func (t *Tiles) shows() bool { return len(t.Panels) > 0 }

func (t *Tiles) paint(c *canvas) {
	var keys []key
	for i, name := range t.Keys {
		keys = append(keys, key{name, series(i), i, false, false})
	}
	c.legend(keys)
	columns := min(len(t.Panels), 3)
	if c.width < 500 {
		columns = 1
	}
	step := c.width / float64(columns)
	side := math.Floor(min(step-34, 220))
	c.frame = box{0, c.y, c.width, c.y}
	for row := range slices.Chunk(t.Panels, columns) {
		for i, p := range row {
			t.panel(c, p, float64(i)*step+26, c.y+24, side)
		}
		c.y += side + 62
	}
	c.frame.y1 = c.y
}

func (t *Tiles) panel(c *canvas, p Panel, x, y, side float64) {
	c.text(label{x: x, y: y - 8, size: usual, colour: "ink", bold: true, text: p.Title}.cut(side))
	tile := side / float64(p.Size)
	c.WriteString(`<g shape-rendering="crispEdges">` + "\n") // else neighbours would have seams
	for _, r := range p.rectangles() {
		low := y + side - float64(r.row)*tile
		c.rect(box{x + float64(r.from)*tile, low - float64(r.rows)*tile, x + float64(r.to)*tile, low}, series(r.kind), "")
	}
	c.WriteString("</g>\n")
	if t.Border {
		c.line(x+side/2, y, x+side/2, y+side, "ink", 1, "4 3")
	}
	for i, text := range []string{"-1", "0", "1"} {
		at := float64(i) / 2 * side
		c.text(label{x: x + at, y: y + side + 15, anchor: middle, size: small, colour: "soft", text: text})
		c.text(label{x: x - 6, y: y + side - at + 4, anchor: end, size: small, colour: "soft", text: text})
	}
	c.text(label{x: x + side/2, y: y + side + 31, anchor: middle, size: small, colour: "soft", text: fmt.Sprintf("across: %s, up: %s", t.X, t.Y)}.cut(side + 20))
}

// A rectangle has tiles of one kind.
type rectangle struct{ kind, row, rows, from, to int }

// rectangles cover the map once, with few of them: runs of one kind along a row, joined upwards while the run is the same.
func (p Panel) rectangles() []rectangle {
	var done, open []rectangle
	for row := range p.Size {
		var next []rectangle
		for _, run := range p.runs(row) {
			i := slices.IndexFunc(open, func(o rectangle) bool { return o.kind == run.kind && o.from == run.from && o.to == run.to })
			if i >= 0 {
				run.row, run.rows = open[i].row, open[i].rows+1
				open = slices.Delete(open, i, i+1)
			}
			next = append(next, run)
		}
		done, open = append(done, open...), next
	}
	return append(done, open...)
}

// runs splits one row into stretches of one kind.
func (p Panel) runs(row int) []rectangle {
	line := p.Kind[row*p.Size : (row+1)*p.Size]
	var runs []rectangle
	for from := 0; from < p.Size; {
		to := from + 1
		for to < p.Size && line[to] == line[from] {
			to++
		}
		runs = append(runs, rectangle{line[from], row, 1, from, to})
		from = to
	}
	return runs
}
