package figure

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// names are what data may call things.
var names = rapid.OneOf(
	rapid.StringMatching(`[a-z0-9_/ -]{1,60}`), rapid.String(), rapid.SampledFrom([]string{"small/none", "WWWWWWWWWWWWWWWW", "模型/检索", "<b>&\"'", "\x00\x1b[31m", "😀😀"}),
)

func words(t *rapid.T, least, most int) []string {
	return rapid.SliceOfN(names, least, most).Draw(t, "names")
}

// amount is a value of any size that reports have.
func amount(t *rapid.T) float64 {
	return rapid.Float64Range(-1, 1).Draw(t, "v") * math.Pow(10, float64(rapid.IntRange(-6, 7).Draw(t, "size")))
}

func interval(t *rapid.T, around float64) *Interval {
	if rapid.Bool().Draw(t, "unknown") {
		return nil
	}
	return &Interval{around - math.Abs(amount(t)), around + math.Abs(amount(t))}
}

// bodies draws one of every kind of body.
var bodies = map[string]func(*rapid.T) Body{
	"plot": func(t *rapid.T) Body {
		p := &Plot{X: Axis{Label: names.Draw(t, "x")}, Y: Axis{Label: names.Draw(t, "y"), Zero: rapid.Bool().Draw(t, "zero")}, Diagonal: rapid.Bool().Draw(t, "diagonal")}
		if rapid.Bool().Draw(t, "log") && !p.Diagonal {
			p.X.Log = true
		}
		for i, name := range words(t, 1, Most) {
			s := Series{Name: name, Rest: i == 0 && rapid.Bool().Draw(t, "rest"), Joined: rapid.Bool().Draw(t, "joined"), Band: rapid.Bool().Draw(t, "band"), Small: rapid.Bool().Draw(t, "small")}
			for range rapid.IntRange(0, 9).Draw(t, "points") {
				at := Point{X: amount(t), Y: amount(t)}
				if p.X.Log {
					at.X = math.Abs(at.X) + 1e-6
				} else {
					at.AcrossX = interval(t, at.X)
				}
				at.Along = interval(t, at.Y)
				if rapid.Bool().Draw(t, "named") {
					at.Name, at.About = names.Draw(t, "point"), names.Draw(t, "about")
				}
				s.Points = append(s.Points, at)
			}
			p.Series = append(p.Series, s)
		}
		if rapid.Bool().Draw(t, "lines") && !p.X.Log {
			p.Lines = []Line{{Name: names.Draw(t, "line"), At: amount(t), Alert: true}, {Name: names.Draw(t, "line"), At: amount(t), Vertical: true}}
		}
		return p
	},
	"stack": func(t *rapid.T) Body {
		s := &Stack{X: Axis{Label: names.Draw(t, "x"), Names: words(t, 1, 40)}, Y: Axis{Label: names.Draw(t, "y")}, Low: rapid.Bool().Draw(t, "low"), Mark: names.Draw(t, "mark")}
		for _, name := range words(t, 1, Most) {
			s.Keys = append(s.Keys, Key{Name: name})
		}
		for range s.X.Names {
			b := Bar{Mark: math.Abs(amount(t)), About: names.Draw(t, "about")}
			for range s.Keys {
				b.Parts = append(b.Parts, math.Abs(amount(t)))
			}
			s.Bars = append(s.Bars, b)
		}
		return s
	},
	"rows": func(t *rapid.T) Body {
		r := &Rows{X: Axis{Label: names.Draw(t, "x")}}
		for _, name := range words(t, 1, 16) {
			mean := amount(t)
			r.Lines = append(r.Lines, Row{Name: name, Mean: mean, Across: interval(t, mean), Colour: Rest})
		}
		return r
	},
	"flow": func(t *rapid.T) Body {
		f := &Flow{Columns: [][]Node{{{Name: names.Draw(t, "all"), Colour: -1}}, nil, nil}}
		for k := 1; k < 3; k++ {
			for i, name := range words(t, 1, Most) {
				f.Columns[k] = append(f.Columns[k], Node{Name: name, Colour: i})
			}
		}
		left := 1.0
		for i := range f.Columns[1] {
			for j := range f.Columns[2] {
				share := left * rapid.Float64Range(0, 1).Draw(t, "share")
				left -= share
				f.Bands = append(f.Bands, Band{1, i, j, share}, Band{0, 0, i, share})
			}
		}
		return f
	},
	"tiles": func(t *rapid.T) Body {
		s := &Tiles{X: "x_1", Y: "x_2", Keys: words(t, 1, Most), Border: true}
		for _, name := range words(t, 1, 4) {
			p := Panel{Title: name, Size: rapid.IntRange(1, 5).Draw(t, "size")}
			for range p.Size * p.Size {
				p.Kind = append(p.Kind, rapid.IntRange(0, len(s.Keys)-1).Draw(t, "kind"))
			}
			s.Panels = append(s.Panels, p)
		}
		return s
	},
}

// No two texts overlap, none leaves the picture, every interval ends inside of the frame, and there are at most Most series, besides
// one in grey.
func TestLaws(t *testing.T) {
	for kind, draw := range bodies {
		t.Run(kind, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				f := &Figure{Name: "f", Title: names.Draw(t, "title"), About: names.Draw(t, "about"), Note: names.Draw(t, "note"), Body: draw(t)}
				for _, width := range []float64{narrow, wide} {
					if err := f.draw(width, true).lawful(); err != nil {
						t.Fatalf("%g wide: %v", width, err)
					}
				}
				for _, svg := range [][]byte{f.Wide(), f.Narrow(), f.SVG()} {
					if err := sound(svg); err != nil {
						t.Fatalf("%v in %s", err, svg)
					}
				}
			})
		})
	}
}

func (c *canvas) lawful() error {
	const slack = 0.01
	page := box{-slack, 0, c.width + slack, c.y + 4 + slack}
	for i, a := range c.texts {
		if !a.within(page) {
			return fmt.Errorf("a text at %v leaves the picture, %v", a, page)
		}
		for _, b := range c.texts[:i] {
			if a.overlaps(b) {
				return fmt.Errorf("texts at %v and %v overlap", a, b)
			}
		}
	}
	for _, s := range c.spans {
		if !s.within(c.frame.grown(slack)) {
			return fmt.Errorf("an interval at %v leaves the frame, %v", s, c.frame)
		}
	}
	if c.missing > 0 {
		return fmt.Errorf("%d texts have no room", c.missing)
	}
	if c.keys > Most+1 {
		return fmt.Errorf("%d series", c.keys)
	}
	return nil
}

// sound reports a picture that is not XML, that has no words, or that could load or run anything.
func sound(svg []byte) error {
	d := xml.NewDecoder(bytes.NewReader(svg))
	allowed := []string{"svg", "title", "desc", "g", "rect", "path", "text"}
	var seen []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		e, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		seen = append(seen, e.Name.Local)
		if !slices.Contains(allowed, e.Name.Local) {
			return fmt.Errorf("an element %s", e.Name.Local)
		}
		for _, a := range e.Attr {
			if a.Name.Local == "style" || a.Name.Local == "href" || strings.HasPrefix(a.Name.Local, "on") || strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
				return fmt.Errorf("an attribute %s=%q", a.Name.Local, a.Value)
			}
		}
	}
	if len(seen) < 3 || !slices.Equal(seen[:3], []string{"svg", "title", "desc"}) {
		return fmt.Errorf("it begins with %v", seen[:min(3, len(seen))])
	}
	return nil
}

// luminance is that of a colour such as #1c2430, from 0 to 1.
func luminance(t *testing.T, colour string) float64 {
	t.Helper()
	v, err := strconv.ParseUint(strings.TrimPrefix(colour, "#"), 16, 24)
	if err != nil {
		t.Fatal(err)
	}
	linear := func(shift int) float64 {
		c := float64(v>>shift&0xff) / 255
		if c <= 0.04045 {
			return c / 12.92
		}
		return math.Pow((c+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(16) + 0.7152*linear(8) + 0.0722*linear(0)
}

// Every series can be seen on white, and each two differ in brightness, for prints in grey.
func TestColoursOfFiles(t *testing.T) {
	var brightness []float64
	for name, colour := range files {
		if name == "line" || name == "card" {
			continue
		}
		if contrast := 1.05 / (luminance(t, colour) + 0.05); contrast < 3 {
			t.Errorf("%s has a contrast of %.2f with white", name, contrast)
		}
		if strings.HasPrefix(name, "s") && len(name) == 2 {
			brightness = append(brightness, 116*math.Cbrt(luminance(t, colour))-16)
		}
	}
	slices.Sort(brightness)
	if len(brightness) != Most {
		t.Fatalf("%d series", len(brightness))
	}
	for i := range brightness[1:] {
		if d := brightness[i+1] - brightness[i]; d < 5 {
			t.Errorf("two series have a lightness of %.1f and %.1f", brightness[i], brightness[i+1])
		}
	}
	for i, d := range dashes {
		if slices.Contains(dashes[:i], d) {
			t.Errorf("two series have the dashes %q", d)
		}
	}
}

// A plot of nothing says so, and unknown values are not drawn.
func TestUnknownIsNotDrawn(t *testing.T) {
	none := &Plot{X: Axis{Log: true}, Series: []Series{{Name: "s", Joined: true, Points: []Point{{X: 0, Y: 1}, {X: 1, Y: math.NaN()}, {X: math.Inf(1), Y: 1}}}}}
	if text := string((&Figure{Title: "t", Body: none}).SVG()); !strings.Contains(text, "Nothing is known") || none.shows() {
		t.Error(text)
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, body := range []Body{
		&Stack{X: Axis{Names: []string{"a"}}, Keys: []Key{{Name: "k"}}, Bars: []Bar{{Parts: []float64{nan}}, {Parts: []float64{inf}}}}, &Rows{Lines: []Row{{Mean: nan}, {Mean: inf}}},
		&Flow{Columns: [][]Node{{{Name: "a"}}, {{Name: "b"}}}, Bands: []Band{{0, 0, 0, nan}}}, &Tiles{}, &Rows{}, &Plot{}, &Stack{}, &Flow{},
	} {
		f := &Figure{Title: "t", Body: body}
		if f.Shows() || !strings.Contains(string(f.SVG()), "Nothing is known") {
			t.Errorf("%+v shows something", body)
		}
	}
	some := &Stack{X: Axis{Names: []string{"a", "b"}}, Keys: []Key{{Name: "k"}}, Bars: []Bar{{Parts: []float64{1}}, {Parts: []float64{math.NaN()}}}}
	if c := (&Figure{Title: "t", Body: some}).draw(wide, false); strings.Count(c.String(), "<rect") != 2 { // the bar and its key
		t.Error(c.String())
	}
}

// A value that is not finite takes nothing else with it.
func TestOneUnknownValueLeavesTheRest(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64} {
		points := []Point{{X: 1, Y: 1, Along: &Interval{0.5, bad}}, {X: 2, Y: 2, AcrossX: &Interval{bad, 3}}, {X: bad, Y: 1}, {X: 3, Y: 3, Along: &Interval{2, 4}}}
		for name, body := range map[string]Body{
			"plot":  &Plot{Series: []Series{{Name: "s", Points: points}, {Name: "empty", Points: points[2:3]}}, Lines: []Line{{Name: "bad", At: bad}, {Name: "across", At: bad, Vertical: true}, {Name: "good", At: 2}}},
			"rows":  &Rows{Lines: []Row{{Name: "bad", Mean: bad, Colour: Rest}, {Name: "good", Mean: 1, Across: &Interval{bad, 2}, Colour: Rest}, {Name: "good too", Mean: 1, Across: &Interval{0.5, 2}, Colour: Rest}}},
			"stack": &Stack{X: Axis{Names: []string{"a", "b"}}, Keys: []Key{{Name: "good"}}, Bars: []Bar{{Parts: []float64{1}, Mark: bad}, {Parts: []float64{bad}}}},
			"flow":  &Flow{Columns: [][]Node{{{Name: "good"}}, {{Name: "b"}, {Name: "c"}}}, Bands: []Band{{0, 0, 0, 0.5}, {0, 0, 1, bad}}},
		} {
			f := &Figure{Title: "t", Body: body}
			text := string(f.SVG())
			if err := sound([]byte(text)); err != nil || !strings.Contains(text, "good") || strings.Contains(text, "bad<") || strings.Contains(text, "empty<") || strings.Contains(text, "Nothing is known") {
				t.Errorf("%s with %g: %v in %s", name, bad, err, text)
			}
			if c := f.draw(wide, true); c.lawful() != nil || len(c.spans) != map[string]int{"plot": 1, "rows": 1}[name] {
				t.Errorf("%s with %g: %v, intervals %v", name, bad, c.lawful(), c.spans)
			}
		}
		if at := points[0].Along; at == nil || at.Low != 0.5 {
			t.Error("drawing changed the data")
		}
	}
}

// Dense points get names only where there is room, and the same figure has the same bytes.
func TestNamesHaveRoom(t *testing.T) {
	s := Series{Name: "s"}
	for i := range 60 {
		s.Points = append(s.Points, Point{X: float64(i % 5), Y: float64(i % 3), Name: "a name of some length " + strconv.Itoa(i)})
	}
	f := &Figure{Title: "t", Body: &Plot{Series: []Series{s}}}
	if n := strings.Count(string(f.Wide()), "a name of"); n == 0 || n == 60 {
		t.Errorf("%d names are drawn", n)
	}
	if !bytes.Equal(f.SVG(), f.SVG()) {
		t.Error("two drawings differ")
	}
}

// Rectangles cover a map of tiles once.
func TestRectanglesCoverTheMapOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		size := rapid.IntRange(1, 9).Draw(t, "size")
		m := Panel{Size: size, Kind: rapid.SliceOfN(rapid.IntRange(0, 2), size*size, size*size).Draw(t, "kinds")}
		seen := make([]int, size*size)
		for _, r := range m.rectangles() {
			for y := r.row; y < r.row+r.rows; y++ {
				for x := r.from; x < r.to; x++ {
					seen[y*size+x]++
					if m.Kind[y*size+x] != r.kind {
						t.Fatalf("tile (%d, %d) painted as %d, is %d", x, y, r.kind, m.Kind[y*size+x])
					}
				}
			}
		}
		if slices.Min(seen) != 1 || slices.Max(seen) != 1 {
			t.Fatalf("painted %v times", seen)
		}
	})
}

// Long names of close points cover no marker, are apart from each other, and are on lines only where no other place is free.
func TestNamesCoverNoMarker(t *testing.T) {
	s := Series{Name: "one pair for every row", Rest: true}
	for i := range 8 {
		for k, advice := range []string{"none", "top-1", "top-3"} {
			x := float64(i)*0.1 + float64(k)*0.03
			s.Points = append(s.Points, Point{X: x, Y: 1 / (1 + x), Name: fmt.Sprintf("Meta-Llama-3.%d-Instruct-Turbo/%s", i, advice)})
		}
	}
	curve := Series{Name: "auto", Joined: true}
	for i := range 6 {
		curve.Points = append(curve.Points, Point{X: float64(i) * 0.16, Y: 0.9 / (1 + float64(i)*0.16)})
	}
	for _, width := range []float64{narrow, wide} {
		c := (&Figure{Title: "t", Body: &Plot{Series: []Series{s, curve}}}).draw(width, true)
		named := 0
		for i, a := range c.texts {
			if !a.within(c.frame.grown(4)) {
				continue
			}
			named++
			if n := a.covers(c.marks); n > 0 {
				t.Errorf("%g wide: a name at %v covers %d markers", width, a, n)
			}
			if n := a.grown(2).covers(c.texts[:i]); n > 0 {
				t.Errorf("%g wide: a name at %v touches %d texts", width, a, n)
			}
		}
		if named < 2 {
			t.Errorf("%g wide: %d names", width, named)
		}
	}
	lone := &Plot{Series: []Series{
		{Rest: true, Points: []Point{{X: 1, Y: 1, Name: "a name"}}},
		{Joined: true, Points: []Point{{X: 0, Y: 0}, {X: 2, Y: 2}}},
	}}
	c := (&Figure{Title: "t", Body: lone}).draw(wide, true)
	for _, a := range c.texts {
		if a.within(c.frame) && a.covers(c.paths) > 0 {
			t.Errorf("the name at %v is on the line, though there is room beside it", a)
		}
	}
}

// Names above their lines are neither crossed by the line at zero nor touched by intervals.
func TestNamesOfRowsAreNotStruckThrough(t *testing.T) {
	r := &Rows{X: Axis{Label: "saved"}}
	for i := range 6 {
		r.Lines = append(r.Lines, Row{Name: "a segment with a rather long name, number " + strconv.Itoa(i), Mean: 0.1, Across: &Interval{-0.5, 0.9}, Colour: Rest})
	}
	c := (&Figure{Title: "t", Body: r}).draw(narrow, true)
	zero := regexp.MustCompile(`<path d="M([\d.]+) ([\d.]+)L([\d.]+) ([\d.]+)" stroke="[^"]*" stroke-width="1" stroke-dasharray`).FindAllStringSubmatch(c.String(), -1)
	if len(zero) == 0 {
		t.Fatal("there is no line at zero")
	}
	for _, m := range zero {
		var at [4]float64
		for i := range at {
			at[i], _ = strconv.ParseFloat(m[i+1], 64)
		}
		if n := (box{at[0], at[1], at[2], at[3]}).grown(1).covers(c.texts); n > 0 {
			t.Errorf("the line at zero from %v crosses %d names", at, n)
		}
	}
	for _, s := range c.spans {
		if n := s.grown(6).covers(c.texts); n > 0 { // its caps are 3 high
			t.Errorf("the interval at %v touches %d names", s, n)
		}
	}
}

// Small markers are opaque, so that they have the contrast of their colour.
func TestSmallMarkersAreOpaque(t *testing.T) {
	f := &Figure{Title: "t", Body: &Plot{Series: []Series{{Small: true, Points: []Point{{X: 1, Y: 1}, {X: 2, Y: 2}}}}}}
	if text := string(f.Wide()); strings.Contains(text, "opacity") {
		t.Error(text)
	}
}
