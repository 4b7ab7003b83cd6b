package report

import (
	"bytes"
	"fmt"
	"image/color"

	imagefont "golang.org/x/image/font"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgsvg"

	"pipe/internal/safetext"
)

var (
	ink  = color.NRGBA{R: 0x24, G: 0x2b, B: 0x36, A: 0xff}
	pale = color.NRGBA{R: 0xdd, G: 0xe2, B: 0xe8, A: 0xff}
	grey = color.NRGBA{R: 0x8a, G: 0x93, B: 0x9e, A: 0xff}

	// hues can be distinguished with any of the common colour vision deficiencies.
	hues = []color.NRGBA{
		{R: 0x00, G: 0x72, B: 0xb2, A: 0xff},
		{R: 0xe6, G: 0x9f, B: 0x00, A: 0xff},
		{R: 0x00, G: 0x9e, B: 0x73, A: 0xff},
		{R: 0xd5, G: 0x5e, B: 0x00, A: 0xff},
		{R: 0xcc, G: 0x79, B: 0xa7, A: 0xff},
		{R: 0x56, G: 0xb4, B: 0xe9, A: 0xff},
		{R: 0x6b, G: 0x73, B: 0x7f, A: 0xff},
		{R: 0xc9, G: 0xbe, B: 0x2f, A: 0xff},
	}
)

// hue returns the i-th colour; beyond the list they repeat, lighter.
func hue(i int) color.NRGBA {
	c := hues[i%len(hues)]
	for range min(i/len(hues), 3) {
		c.R, c.G, c.B = c.R/2+0x7f, c.G/2+0x7f, c.B/2+0x7f
	}
	return c
}

// faint is a colour for bands, through which lines can be seen.
func faint(c color.NRGBA) color.NRGBA {
	c.A = 0x38
	return c
}

// render draws a picture of width x height as SVG and as PNG at twice the screen density. It does not depend on time,
// place or map order, so the same data gives the same bytes.
func render(name, caption string, width, height vg.Length, paint func(draw.Canvas)) (Figure, error) {
	f := Figure{Name: name, Caption: caption}
	vector := vgsvg.New(width, height)
	paint(draw.New(vector))
	var svg, png bytes.Buffer
	if _, err := vector.WriteTo(&svg); err != nil {
		return f, fmt.Errorf("draw figure %q: %w", name, err)
	}
	raster := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(192))
	paint(draw.New(raster))
	if _, err := (vgimg.PngCanvas{Canvas: raster}).WriteTo(&png); err != nil {
		return f, fmt.Errorf("draw figure %q: %w", name, err)
	}
	f.SVG, f.PNG = portableFonts(svg.Bytes()), png.Bytes()
	return f, nil
}

// portableFonts adds fonts that every system has to the font of every text of the SVG.
func portableFonts(svg []byte) []byte {
	return bytes.ReplaceAll(svg, []byte("font-family:Liberation Sans;"), []byte("font-family:'Liberation Sans',Arial,Helvetica,sans-serif;"))
}

// newPlot returns an empty plot in the house style.
func newPlot(title, x, y string) *plot.Plot {
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = title, x, y
	p.Title.Padding = 6
	styleText(&p.Title.TextStyle, 11)
	p.Title.TextStyle.Font.Weight = imagefont.WeightBold
	styleText(&p.Legend.TextStyle, 9.5)
	for _, axis := range []*plot.Axis{&p.X, &p.Y} {
		styleText(&axis.Label.TextStyle, 10)
		styleText(&axis.Tick.Label, 9)
		axis.LineStyle.Color, axis.Tick.LineStyle.Color = ink, ink
		axis.LineStyle.Width, axis.Tick.LineStyle.Width = 0.6, 0.6
		axis.Tick.Length = 4
	}
	return p
}

func styleText(s *text.Style, size vg.Length) {
	s.Font = font.Font{Typeface: "Liberation", Variant: "Sans", Size: size}
	s.Color, s.Handler = ink, labels{plot.DefaultTextHandler}
}

// labels draws names from data: control characters in them would make the XML invalid.
type labels struct{ text.Handler }

func (t labels) Lines(s string) []string { return t.Handler.Lines(safetext.Line(s)) }

func (t labels) Box(s string, f font.Font) (width, height, depth vg.Length) {
	return t.Handler.Box(safetext.Line(s), f)
}

func (t labels) Draw(c vg.Canvas, s string, style text.Style, at vg.Point) {
	t.Handler.Draw(c, safetext.Line(s), style, at)
}

// textStyle is the house style for text that a figure draws itself.
func textStyle(size vg.Length, x draw.XAlignment, y draw.YAlignment) text.Style {
	s := text.Style{XAlign: x, YAlign: y}
	styleText(&s, size)
	return s
}

// key is one entry of a legend below a figure.
type key struct {
	name   string
	colour color.NRGBA
}

// drawKeys draws a centred row of coloured squares with names, y above the lower edge of the canvas; it wraps to the
// width.
func drawKeys(c draw.Canvas, keys []key) {
	const side, gap, line = vg.Length(8), vg.Length(16), vg.Length(14)
	style := textStyle(9.5, draw.XLeft, draw.YCenter)
	width := func(k key) vg.Length { return side + 4 + style.Width(k.name) + gap }
	y := c.Max.Y - line/2
	for start := 0; start < len(keys); {
		end, total := start, vg.Length(0)
		for end < len(keys) && (end == start || total+width(keys[end]) <= c.Max.X-c.Min.X) {
			total += width(keys[end])
			end++
		}
		x := (c.Min.X + c.Max.X - total + gap) / 2
		for _, k := range keys[start:end] {
			fillBox(c, k.colour, x, y-side/2, x+side, y+side/2)
			c.FillText(style, vg.Point{X: x + side + 4, Y: y}, k.name)
			x += width(k)
		}
		y -= line
		start = end
	}
}

func fillBox(c draw.Canvas, fill color.Color, x0, y0, x1, y1 vg.Length) {
	c.FillPolygon(fill, []vg.Point{{X: x0, Y: y0}, {X: x1, Y: y0}, {X: x1, Y: y1}, {X: x0, Y: y1}})
}

// whole paints the background of a figure composed of several plots.
func whole(c draw.Canvas) {
	fillBox(c, color.White, c.Min.X, c.Min.Y, c.Max.X, c.Max.Y)
}
