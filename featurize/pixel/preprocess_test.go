package pixel

import (
	"bytes"
	"image"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// tenViews are the centre, the four corners, and the mirror images of them.
func tenViews(t testing.TB) []View {
	t.Helper()
	var list []View
	for _, name := range []string{
		"centre", "mirror", "top-left", "top-right", "bottom-left", "bottom-right",
		"mirror-top-left", "mirror-top-right", "mirror-bottom-left", "mirror-bottom-right",
	} {
		v, err := ParseView(name, 0)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, v)
	}
	return list
}

// TestTenViewsAreCropsOfTheResizedImage compares each view with the same crop
// of an image that is resized as a whole, for all the views together and for
// each alone, in uint8 and in both layouts.
func TestTenViewsAreCropsOfTheResizedImage(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		views := tenViews(t)
		if share := rapid.SampledFrom([]float64{0, 0.3, 0.6}).Draw(rt, "share"); share > 0 {
			for i, v := range views {
				if v.Corner != "" {
					views[i].Share = share
				}
			}
		}
		m := noise(rapid.IntRange(1, 70).Draw(rt, "w"), rapid.IntRange(1, 70).Draw(rt, "h"), rapid.Uint64().Draw(rt, "seed"))
		p := Preprocess{Resize: rapid.IntRange(2, 40).Draw(rt, "resize"), Interpolation: Bicubic, Layout: NCHW, Std: [3]float32{1, 0.5, 2}}
		p.Width, p.Height = rapid.IntRange(1, p.Resize-1).Draw(rt, "width"), rapid.IntRange(1, p.Resize-1).Draw(rt, "height")
		f, err := p.Interpolation.filter()
		if err != nil {
			rt.Fatal(err)
		}
		for _, v := range views {
			side := p.side(v)
			if v.Corner != "" && side <= min(p.Width, p.Height) {
				rt.Skip("no room for corners")
			}
			size := resized(m, side)
			whole := resize(m, size.X, size.Y, f, image.Rectangle{Max: size})
			left, top := middle(size.X, side), middle(size.Y, side)
			at := image.Pt(middle(size.X, p.Width), middle(size.Y, p.Height))
			if v.Corner != "" {
				at = image.Pt(left, top)
				if strings.HasSuffix(string(v.Corner), "right") {
					at.X = left + side - p.Width
				}
				if strings.HasPrefix(string(v.Corner), "bottom") {
					at.Y = top + side - p.Height
				}
			}
			want := cut(whole, image.Rectangle{Min: at, Max: at.Add(image.Pt(p.Width, p.Height))})
			if strings.HasPrefix(v.Name, "mirror") {
				mirror(want)
			}
			for _, list := range [][]View{views, {v}} {
				holdView(rt, p, m, list, v, want.Pix)
			}
		}
	})
}

func mirror(m *Image) {
	for y := range m.Height {
		row := m.row(y)
		for x := range m.Width / 2 {
			a, b := row[3*x:3*x+3], row[3*(m.Width-1-x):3*(m.Width-x)]
			for c := range 3 {
				a[c], b[c] = b[c], a[c]
			}
		}
	}
}

func holdView(t rapid.TB, p Preprocess, m *Image, list []View, v View, want []uint8) {
	prepared, err := p.Prepare(m, list)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]uint8, p.Len())
	if err := prepared.Pixels(got, v); err != nil || !bytes.Equal(got, want) {
		t.Fatalf("%s of %d views: %v, %s", v.Name, len(list), err, differences(got, want))
	}
	values, table := make([]float32, p.Len()), p.table()
	if err := prepared.Fill(values, v); err != nil {
		t.Fatal(err)
	}
	for i, u := range want {
		if c := i % 3; values[c*p.Width*p.Height+i/3] != table[c][u] {
			t.Fatalf("%s: value %d is %v for the pixel value %d", v.Name, i, values[c*p.Width*p.Height+i/3], u)
		}
	}
}

// TestPrepareOfLongImages: what lies outside the central square costs nothing.
func TestPrepareOfLongImages(t *testing.T) {
	p := CLIPPreprocess(224)
	p.Resize = 256
	for _, size := range [][2]int{{20000, 10}, {10, 20000}} {
		m := noise(size[0], size[1], 1)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		prepared, err := p.Prepare(m, tenViews(t))
		runtime.ReadMemStats(&after)
		if err != nil {
			t.Fatal(err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
			t.Errorf("%v: %d bytes for a square of 256 pixels", size, used)
		}
		if err := prepared.Pixels(make([]uint8, p.Len()), Centre()); err != nil {
			t.Error(err)
		}
	}
}

func TestPreparedRefusesOtherViews(t *testing.T) {
	p := Preprocess{Resize: 12, Width: 8, Height: 8, Interpolation: Bilinear, Layout: NCHW, Std: [3]float32{1, 1, 1}}
	prepared, err := p.Prepare(noise(20, 30, 1), []View{Centre()})
	if err != nil {
		t.Fatal(err)
	}
	corner := View{Name: "top-left", Corner: TopLeft}
	if err := prepared.Pixels(make([]uint8, p.Len()), corner); err == nil || !strings.Contains(err.Error(), `not prepared for the view "top-left"`) {
		t.Errorf("got %v", err)
	}
	p.Resize = 8
	if _, err := p.Prepare(noise(20, 30, 1), []View{corner}); err == nil || !strings.Contains(err.Error(), "needs a smaller crop") {
		t.Errorf("got %v", err)
	}
}

// TestPreparedForOthers: one resizing does for models that lay out and scale
// the same pixels in another way, and for no others.
func TestPreparedForOthers(t *testing.T) {
	p := Preprocess{Resize: 12, Width: 8, Height: 6, Interpolation: Bilinear, Layout: NCHW, Std: [3]float32{1, 1, 1}}
	m := noise(20, 30, 1)
	prepared, err := p.Prepare(m, []View{Centre()})
	if err != nil {
		t.Fatal(err)
	}
	q := p
	q.Layout, q.Mean, q.Std = NHWC, [3]float32{0.5, 0.25, 0}, [3]float32{0.5, 2, 1}
	got, want := make([]float32, q.Len()), make([]float32, q.Len())
	fill(t, q, want, m, Centre())
	other, err := prepared.For(q)
	if err == nil {
		err = other.Fill(got, Centre())
	}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("other values than those prepared for the model: %v", err)
	}
	q.Resize = 13
	if _, err := prepared.For(q); err == nil {
		t.Error("an image of another size does")
	}
}

func TestPreprocessValidate(t *testing.T) {
	if err := CLIPPreprocess(224).Validate(); err != nil {
		t.Error(err)
	}
	bad := Preprocess{Resize: 10, Width: 12, Height: 5, Interpolation: "area", Layout: "chw"}
	err := bad.Validate()
	if err == nil {
		t.Fatal("accepted")
	}
	for _, want := range []string{`layout "chw"`, "crop of 12 x 5", `interpolation "area"`, "channel 2"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not say %q", err, want)
		}
	}
}

func TestReadPreprocess(t *testing.T) {
	const full = `{"do_resize":true,"size":{"shortest_edge":224},"resample":3,"do_center_crop":true,"crop_size":{"height":224,"width":224},
		"do_rescale":true,"rescale_factor":0.00392156862745098,"do_normalize":true,"do_convert_rgb":true,
		"image_mean":[0.48145466,0.4578275,0.40821073],"image_std":[0.26862954,0.26130258,0.27577711],"image_processor_type":"CLIPImageProcessor"}`
	const short = `{"crop_size":224,"size":224,"resample":3,"do_normalize":true,
		"image_mean":[0.48145466,0.4578275,0.40821073],"image_std":[0.26862954,0.26130258,0.27577711]}`
	for _, text := range []string{full, short} {
		p, found, err := readPreprocess(t, text)
		if err != nil || !found || p != CLIPPreprocess(224) {
			t.Errorf("%+v, %v, %v", p, found, err)
		}
	}
	p, _, err := readPreprocess(t, `{"size":{"shortest_edge":256},"resample":2,"crop_size":{"height":192,"width":160},"do_normalize":false}`)
	if want := (Preprocess{Resize: 256, Width: 160, Height: 192, Interpolation: Bilinear, Layout: NCHW, Std: [3]float32{1, 1, 1}}); err != nil || p != want {
		t.Errorf("%+v, %v", p, err)
	}
	if _, found, err := ReadPreprocess(t.TempDir()); found || err != nil {
		t.Errorf("an empty folder: %v, %v", found, err)
	}
	for _, c := range []struct{ text, want string }{
		{`{"size":{"height":224,"width":224}}`, "shortest edge"},
		{`{"size":224,"do_center_crop":false}`, "centre crop"},
		{`{"size":224,"crop_size":224,"do_rescale":false}`, "1/255"},
		{`{"size":224,"crop_size":224,"rescale_factor":0.5}`, "1/255"},
		{`{"size":224,"crop_size":224,"resample":1,"do_normalize":false}`, "resample is 1"},
		{`{"size":224,"crop_size":224}`, "image_mean has 0"},
		{`{"size":224,"crop_size":300,"do_normalize":false}`, "are too small for a crop"},
		{`{"size":224,"crop_size":-1,"do_normalize":false}`, "-1 x -1 pixels"},
		{`{"size":"large"}`, "preprocessor_config.json"},
		{`{"size":224,"crop_size":224,"do_normalize":true,"image_mean":[0,0,0],"image_std":[1,0,1]}`, "channel 1"},
		{`{`, "preprocessor_config.json"},
	} {
		if _, _, err := readPreprocess(t, c.text); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.text, err, c.want)
		}
	}
}

func readPreprocess(t *testing.T, text string) (Preprocess, bool, error) {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "preprocessor_config.json"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return ReadPreprocess(dir)
}

// TestCornersAsAShare: half of an image that is twice as large as the model's input is a quarter of its pixels, unchanged.
func TestCornersAsAShare(t *testing.T) {
	m := noise(8, 8, 3)
	p := Preprocess{Resize: 4, Width: 4, Height: 4, Interpolation: Bicubic, Layout: NCHW, Std: [3]float32{1, 1, 1}}
	for corner, at := range map[Corner]image.Point{TopLeft: {}, TopRight: {X: 4}, BottomLeft: {Y: 4}, BottomRight: {X: 4, Y: 4}} {
		v := View{Name: string(corner), Corner: corner, Share: 0.5}
		holdView(t, p, m, []View{Centre(), v}, v, cut(m, image.Rectangle{Min: at, Max: at.Add(image.Pt(4, 4))}).Pix)
	}
	for _, v := range []View{{Corner: TopLeft}, {Corner: TopLeft, Share: 1}, {Corner: TopLeft, Share: -1}, {Share: 1e-9}} {
		if p.CheckView(v) == nil {
			t.Errorf("%+v is accepted", v)
		}
	}
}
