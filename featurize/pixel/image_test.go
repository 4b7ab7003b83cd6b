package pixel

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"golang.org/x/image/tiff"

	"pgregory.net/rapid"
)

// testPicture has pixels whose colours encode their positions.
func testPicture(w, h int) *Image {
	m := &Image{Width: w, Height: h}
	for y := range h {
		for x := range w {
			m.Pix = append(m.Pix, uint8(x), uint8(y), uint8(7*x+3*y))
		}
	}
	return m
}

func encodePNG(t testing.TB, src image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, src); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestDecodeKeepsColours decodes one picture in every colour model that
// PNG has.
func TestDecodeKeepsColours(t *testing.T) {
	r := image.Rect(0, 0, 3, 2)
	at := func(x, y int) color.NRGBA { return color.NRGBA{R: uint8(40 * x), G: uint8(90 * y), B: 200, A: 255} }
	nrgba, rgba, deep := image.NewNRGBA(r), image.NewRGBA(r), image.NewNRGBA64(r)
	palette := image.NewPaletted(r, nil)
	for y := range 2 {
		for x := range 3 {
			palette.Palette = append(palette.Palette, at(x, y))
		}
	}
	for y := range 2 {
		for x := range 3 {
			for _, m := range []interface {
				Set(x, y int, c color.Color)
			}{nrgba, rgba, deep, palette} {
				m.Set(x, y, at(x, y))
			}
		}
	}
	for name, src := range map[string]image.Image{"nrgba": nrgba, "rgba": rgba, "16 bit": deep, "palette": palette} {
		m, err := Decode(encodePNG(t, src))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for y := range 2 {
			for x := range 3 {
				c, p := at(x, y), m.Pix[3*(3*y+x):]
				if p[0] != c.R || p[1] != c.G || p[2] != c.B {
					t.Errorf("%s: pixel %d, %d is %v, want %v", name, x, y, p[:3], c)
				}
			}
		}
	}
}

func TestDecodeDropsTransparency(t *testing.T) {
	for _, alpha := range []uint8{0, 1, 128, 255} {
		src, deep := image.NewNRGBA(image.Rect(0, 0, 1, 1)), image.NewNRGBA64(image.Rect(0, 0, 1, 1))
		src.SetNRGBA(0, 0, color.NRGBA{R: 10, G: 20, B: 30, A: alpha})
		deep.SetNRGBA64(0, 0, color.NRGBA64{R: 10<<8 | 200, G: 20 << 8, B: 30<<8 | 255, A: uint16(alpha) << 8})
		for depth, file := range map[int][]byte{8: encodePNG(t, src), 16: encodePNG(t, deep)} {
			m, err := Decode(file)
			if err != nil || !bytes.Equal(m.Pix, []uint8{10, 20, 30}) {
				t.Errorf("%d bits, alpha %d: %v, %v", depth, alpha, m, err)
			}
		}
	}
}

func TestDecodeReadsGreyAndJPEG(t *testing.T) {
	grey := image.NewGray(image.Rect(0, 0, 16, 16))
	for i := range grey.Pix {
		grey.Pix[i] = 77
	}
	var b bytes.Buffer
	if err := jpeg.Encode(&b, grey, &jpeg.Options{Quality: 100}); err != nil {
		t.Fatal(err)
	}
	for name, file := range map[string][]byte{"png": encodePNG(t, grey), "jpeg": b.Bytes()} {
		m, err := Decode(file)
		if err != nil || m.Width != 16 || m.Pix[0] != 77 || m.Pix[3*255+2] != 77 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestDecodeRefuses(t *testing.T) {
	whole := encodePNG(t, image.NewNRGBA(image.Rect(0, 0, 40, 40)))
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, image.NewNRGBA(image.Rect(0, 0, 200, 200)), nil); err != nil {
		t.Fatal(err)
	}
	bomb := bytes.Clone(whole)
	copy(bomb[16:], []byte{0, 1, 0, 0, 0, 1, 0, 0}) // 65,536 pixels a side; the checksum is wrong as well
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"empty":     {nil, "empty"},
		"html":      {[]byte("<html>not found</html>"), "neither JPEG, PNG, GIF, BMP nor WebP: it is a web page"},
		"text":      {[]byte("not found"), "neither JPEG, PNG, GIF, BMP nor WebP"},
		"short BMP": {[]byte("BM\x40\x00\x00\x00\x00\x00\x00\x00\x36\x00"), "truncated"},
		"only BMP":  {[]byte("BM\x40\x00\x00\x00\x00\x00\x00\x00\x36\x00\x00\x00"), "truncated"},
		"animation": {[]byte("RIFF\x40\x00\x00\x00WEBPVP8X\x0a\x00\x00\x00\x02\x00\x00\x00\x0f\x00\x00\x0f\x00\x00ANIM"), "animated"},
		"truncated": {whole[:len(whole)/2], "truncated"},
		"cut photo": {photo.Bytes()[:photo.Len()/2], "truncated"},
		"header":    {whole[:20], "truncated"},
		"damaged":   {bomb, "decode image"},
	} {
		if _, err := Decode(c.file); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

// TestOtherFormatsAreNotDecoded: a program that links a decoder, as this test
// does, decodes no more formats for that.
func TestOtherFormatsAreNotDecoded(t *testing.T) {
	var b bytes.Buffer
	if err := tiff.Encode(&b, image.NewGray(image.Rect(0, 0, 32, 32)), nil); err != nil {
		t.Fatal(err)
	}
	if _, format, err := image.DecodeConfig(bytes.NewReader(b.Bytes())); err != nil || format != "tiff" {
		t.Fatalf("%s, %v: the test shows nothing", format, err)
	}
	_, _, size := Size(b.Bytes())
	errs := []error{size, DefaultLimits().Check(b.Bytes())}
	for _, d := range bothDecoders() {
		_, err := d.Decode(b.Bytes())
		errs = append(errs, err)
	}
	for _, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "neither JPEG, PNG, GIF, BMP nor WebP") {
			t.Error(err)
		}
	}
}

// TestViewsAreWhatTheyAreCalled compares every view with its definition pixel
// by pixel, in both layouts.
func TestViewsAreWhatTheyAreCalled(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w, h := rapid.IntRange(1, 9).Draw(t, "w"), rapid.IntRange(1, 9).Draw(t, "h")
		pixels := rapid.IntRange(1, 4).Draw(t, "pixels")
		img := testPicture(w, h)
		clampX := func(x int) int { return min(max(x, 0), w-1) }
		clampY := func(y int) int { return min(max(y, 0), h-1) }
		for name, from := range map[string]func(x, y int) (int, int){
			"centre": func(x, y int) (int, int) { return x, y },
			"mirror": func(x, y int) (int, int) { return w - 1 - x, y },
			"left":   func(x, y int) (int, int) { return clampX(x + pixels), y },
			"right":  func(x, y int) (int, int) { return clampX(x - pixels), y },
			"up":     func(x, y int) (int, int) { return x, clampY(y + pixels) },
			"down":   func(x, y int) (int, int) { return x, clampY(y - pixels) },
		} {
			v, err := ParseView(name, pixels)
			if err != nil {
				t.Fatal(err)
			}
			in := Preprocess{Layout: NCHW, Width: w, Height: h, Mean: [3]float32{0.5, 0, 0.25}, Std: [3]float32{0.5, 1, 2}}
			chw, hwc := make([]float32, in.Len()), make([]float32, in.Len())
			fill(t, in, chw, img, v)
			in.Layout = NHWC
			fill(t, in, hwc, img, v)
			for y := range h {
				for x := range w {
					sx, sy := from(x, y)
					for c := range 3 {
						want := (float32(img.Pix[3*(sy*w+sx)+c])/255 - in.Mean[c]) / in.Std[c]
						if chw[(c*h+y)*w+x] != want || hwc[3*(y*w+x)+c] != want {
							t.Fatalf("%s: channel %d at %d, %d is %v and %v, want %v", name, c, x, y, chw[(c*h+y)*w+x], hwc[3*(y*w+x)+c], want)
						}
					}
				}
			}
		}
	})
}

func TestUnknownViewListsTheKnownOnes(t *testing.T) {
	if _, err := ParseView("sideways", 2); err == nil || !strings.Contains(err.Error(), "centre, mirror, left") {
		t.Errorf("got %v", err)
	}
	if _, err := ParseView("left", 0); err == nil {
		t.Error("a shift by nothing was accepted")
	}
}

func fill(t interface{ Fatal(...any) }, p Preprocess, dst []float32, img *Image, v View) {
	prepared, err := p.Prepare(img, []View{v})
	if err == nil {
		err = prepared.Fill(dst, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestPrepareRefusesAnotherSize(t *testing.T) {
	p := Preprocess{Layout: NCHW, Width: 4, Height: 5, Std: [3]float32{1, 1, 1}}
	if _, err := p.Prepare(testPicture(5, 4), nil); err == nil || !strings.Contains(err.Error(), "5 x 4 pixels") {
		t.Errorf("got %v", err)
	}
}

// TestPoolingKeepsTheMean: cells of equal size average to the picture's mean,
// and a grid as fine as the picture is the picture.
func TestPoolingKeepsTheMean(t *testing.T) {
	img := testPicture(8, 12)
	one, four, all := make([]float32, 3), make([]float32, 48), make([]float32, 3*8*8)
	for _, p := range []struct {
		dst  []float32
		grid int
	}{{one, 1}, {four, 4}} {
		if err := Pool(p.dst, img, p.grid); err != nil {
			t.Fatal(err)
		}
	}
	for c := range 3 {
		var sum float64
		for cell := range 16 {
			sum += float64(four[3*cell+c]) / 16
		}
		if d := sum - float64(one[c]); d > 1e-6 || d < -1e-6 {
			t.Errorf("channel %d: cells average %v, the picture is %v", c, sum, one[c])
		}
	}
	square := testPicture(8, 8)
	if err := Pool(all, square, 8); err != nil {
		t.Fatal(err)
	}
	for i, v := range square.Pix {
		if all[i] != float32(float64(v)/255) {
			t.Fatalf("value %d is %v for %d", i, all[i], v)
		}
	}
	if err := Pool(make([]float32, 3*81), square, 9); err == nil {
		t.Error("a grid finer than the picture was accepted")
	}
}
