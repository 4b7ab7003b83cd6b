package pixel

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"pipe/internal/judge"
)

// pillowFormats writes one photo-like picture in every form that Pillow can
// write and the pixels it reads back from each, and prints the names.
const pillowFormats = `
import io, sys, random, warnings
warnings.simplefilter("ignore")
from PIL import Image
random.seed(1)
W, H = int(sys.argv[1]), int(sys.argv[2])
small = Image.frombytes("RGB", (4, 3), random.randbytes(4 * 3 * 3))
rgb = small.resize((W, H), Image.BICUBIC)
grey = rgb.convert("L")
alpha = rgb.copy(); alpha.putalpha(Image.frombytes("L", (9, 7), random.randbytes(63)).resize((W, H)))
inks = Image.frombytes("CMYK", (9, 7), random.randbytes(9 * 7 * 4)).resize((W, H), Image.BICUBIC)
def put(name, img, form, **o):
    b = io.BytesIO(); img.save(b, form, **o); write(name, b.getvalue())
def write(name, b):
    open(name, "wb").write(b)
    img = Image.open(io.BytesIO(b)).convert("RGB")
    assert img.size == (W, H)
    open(name + ".rgb", "wb").write(img.tobytes())
    print(name)
put("rgb.png", rgb, "PNG"); put("grey.png", grey, "PNG"); put("alpha.png", alpha, "PNG")
put("grey-alpha.png", alpha.convert("LA"), "PNG"); put("palette.png", rgb.quantize(61), "PNG")
put("palette-alpha.png", alpha.quantize(61), "PNG"); put("palette-16.png", rgb.quantize(13), "PNG")
put("bits.png", grey.convert("1"), "PNG"); put("transparent-colour.png", rgb, "PNG", transparency=rgb.getpixel((3, 3)))
put("palette.gif", rgb.quantize(200), "GIF"); put("rgb.bmp", rgb, "BMP"); put("palette.bmp", rgb.quantize(100), "BMP")
put("lossless.webp", rgb, "WEBP", lossless=True); put("lossless-alpha.webp", alpha, "WEBP", lossless=True, exact=True)
for q in (20, 75, 95):
    put(f"lossy-{q}.webp", rgb, "WEBP", quality=q)
put("lossy-alpha.webp", alpha, "WEBP", quality=80, exact=True)
put("named.png.jpg", rgb, "PNG")
for q in (40, 90):
    for s in (0, 1, 2):
        put(f"baseline-{q}-{s}.jpg", rgb, "JPEG", quality=q, subsampling=s)
        put(f"progressive-{q}-{s}.jpg", rgb, "JPEG", quality=q, subsampling=s, progressive=True)
    put(f"grey-{q}.jpg", grey, "JPEG", quality=q); put(f"grey-progressive-{q}.jpg", grey, "JPEG", quality=q, progressive=True)
put("restart.jpg", rgb, "JPEG", restart_marker_rows=1)
exif = Image.Exif(); exif[0x112] = 6
put("rotated.jpg", rgb, "JPEG", exif=exif)
put("colours-kept.jpg", rgb, "JPEG", keep_rgb=True)
b = io.BytesIO(); inks.save(b, "JPEG", quality=90); inked = b.getvalue()
at = inked.index(b"Adobe")
write("cmyk.jpg", inked)
write("ycck.jpg", inked[:at + 11] + b"\x02" + inked[at + 12:])
write("cmyk-no-marker.jpg", inked[:at - 4] + inked[at + 12:])
put("cmyk-progressive.jpg", inks, "JPEG", quality=90, progressive=True)
`

// TestStandardDecoderBesidePillow: forms without loss, and lossy WebP, give
// Pillow's pixels; JPEG gives them up to the rounding of its transform and the
// interpolation of its colours. Half a file is truncated.
func TestStandardDecoderBesidePillow(t *testing.T) {
	python := judge.Python(t, "PIL")
	for _, size := range [][2]int{{64, 48}, {61, 47}, {33, 50}} {
		dir := t.TempDir()
		names := strings.Fields(judge.Run(t, python, dir, pillowFormats, fmt.Sprint(size[0]), fmt.Sprint(size[1])))
		if len(names) < 30 {
			t.Fatalf("only %v", names)
		}
		for _, name := range names {
			file := readFile(t, filepath.Join(dir, name))
			m, err := Decode(file)
			if err != nil {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if _, err := Decode(file[:len(file)/2]); err == nil || !strings.Contains(err.Error(), "truncated") {
				t.Errorf("half of %s: %v", name, err)
			}
			want := readFile(t, filepath.Join(dir, name+".rgb"))
			mean, most, _ := apartBy(m.Pix, want)
			jpeg := strings.HasSuffix(name, ".jpg") && !strings.Contains(name, ".png")
			limit := 3.5
			if !sharesColours(name) {
				limit = 0.25
			}
			if !jpeg && !bytes.Equal(m.Pix, want) || mean > limit {
				t.Errorf("%s: %s", name, differences(m.Pix, want))
			}
			if jpeg {
				t.Logf("%v %s: %.3f grey levels on average, %d at most", size, name, mean, most)
			}
		}
	}
}

// sharesColours reports whether a name is that of a JPEG file with subsampled
// colours.
func sharesColours(name string) bool {
	return strings.HasSuffix(name, "-1.jpg") || strings.HasSuffix(name, "-2.jpg") || name == "restart.jpg" || name == "rotated.jpg"
}

// TestYCbCrIsGos holds the loop over shared colours against Go's conversion of
// single pixels, for every ratio that JPEG decoders produce.
func TestYCbCrIsGos(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, ratio := range []image.YCbCrSubsampleRatio{
		image.YCbCrSubsampleRatio444, image.YCbCrSubsampleRatio422, image.YCbCrSubsampleRatio420,
		image.YCbCrSubsampleRatio440, image.YCbCrSubsampleRatio411, image.YCbCrSubsampleRatio410,
	} {
		for _, size := range []image.Point{{X: 1, Y: 1}, {X: 37, Y: 29}, {X: 64, Y: 16}, {X: 3, Y: 40}} {
			s := image.NewYCbCr(image.Rectangle{Max: size}, ratio)
			for _, plane := range [][]uint8{s.Y, s.Cb, s.Cr} {
				for i := range plane {
					plane[i] = uint8(rng.UintN(256))
				}
			}
			m := &Image{Width: size.X, Height: size.Y, Pix: make([]uint8, 3*size.X*size.Y)}
			m.fillYCbCr(s)
			for y := range size.Y {
				for x := range size.X {
					i, c := s.YOffset(x, y), s.COffset(x, y)
					r, g, b := color.YCbCrToRGB(s.Y[i], s.Cb[c], s.Cr[c])
					if got := m.row(y)[3*x : 3*x+3]; !bytes.Equal(got, []uint8{r, g, b}) {
						t.Fatalf("%v, %v: pixel %d, %d is %v, want %d %d %d", ratio, size, x, y, got, r, g, b)
					}
				}
			}
		}
	}
}

func BenchmarkYCbCr(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	for name, ratio := range map[string]image.YCbCrSubsampleRatio{"420": image.YCbCrSubsampleRatio420, "444": image.YCbCrSubsampleRatio444} {
		s := image.NewYCbCr(image.Rect(0, 0, 500, 375), ratio)
		for _, plane := range [][]uint8{s.Y, s.Cb, s.Cr} {
			for i := range plane {
				plane[i] = uint8(96 + rng.UintN(64))
			}
		}
		m := &Image{Width: 500, Height: 375, Pix: make([]uint8, 3*500*375)}
		b.Run(name+"/500x375", func(b *testing.B) {
			for b.Loop() {
				m.fillYCbCr(s)
			}
		})
	}
}
