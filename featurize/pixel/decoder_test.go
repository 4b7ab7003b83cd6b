package pixel

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pipe/featurize/jpegturbo"
	"pipe/internal/judge"
	"pipe/internal/realdata"
)

// turbo is the libjpeg-turbo decoder; a test is skipped where it is missing,
// except under CI.
func turbo(t testing.TB) Decoder {
	t.Helper()
	d, err := OpenDecoder("libjpeg-turbo")
	var missing *jpegturbo.MissingLibraryError
	if errors.As(err, &missing) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestOpenDecoder(t *testing.T) {
	for _, name := range []string{"", "standard"} {
		d, err := OpenDecoder(name)
		if err != nil || !strings.HasPrefix(d.Name(), "standard (go") {
			t.Errorf("%q: %v, %v", name, d, err)
		}
	}
	if _, err := OpenDecoder("fast"); err == nil || !strings.Contains(err.Error(), "standard, libjpeg-turbo, auto") {
		t.Errorf("got %v", err)
	}
	t.Setenv(jpegturbo.EnvLibrary, filepath.Join(t.TempDir(), "absent"))
	if d, err := OpenDecoder("auto"); err != nil || d != StandardDecoder() {
		t.Errorf("auto without the library: %v, %v", d, err)
	}
	_, err := OpenDecoder("libjpeg-turbo")
	var missing *jpegturbo.MissingLibraryError
	if !errors.As(err, &missing) || !strings.Contains(missing.Hint(), "libturbojpeg0") {
		t.Errorf("got %v", err)
	}
	broken := filepath.Join(t.TempDir(), "broken.so")
	writeFile(t, broken, []byte("no library"))
	t.Setenv(jpegturbo.EnvLibrary, broken)
	var load *jpegturbo.LoadError
	if _, err := OpenDecoder("auto"); !errors.As(err, &load) {
		t.Errorf("auto with a broken library: %v", err)
	}
}

const pillowDigests = `
import glob, hashlib, json, os, sys
from PIL import Image
out = {}
for name in sorted(glob.glob(os.path.join(sys.argv[1], "*"))):
    img = Image.open(name).convert("RGB")
    out[os.path.basename(name)] = [img.width, img.height, hashlib.sha256(img.tobytes()).hexdigest()]
print(json.dumps(out))
`

// TestTurboDecodesAsPillow: all the real images, pixel for pixel.
func TestTurboDecodesAsPillow(t *testing.T) {
	d, python, folder := turbo(t), judge.Python(t, "PIL"), realdata.Folder(t, "imagenet", "images")
	var want map[string][3]any
	if err := json.Unmarshal([]byte(judge.Run(t, python, "", pillowDigests, folder)), &want); err != nil || len(want) == 0 {
		t.Fatal(err, len(want))
	}
	same := 0
	var whole, crops distance
	for name, w := range want {
		file := readFile(t, filepath.Join(folder, name))
		m, err := d.Decode(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if m.Width != int(w[0].(float64)) || m.Height != int(w[1].(float64)) || sha256Hex(m.Pix) != w[2] {
			t.Errorf("%s: %d x %d pixels, Pillow has other ones", name, m.Width, m.Height)
			continue
		}
		same++
		standard, err := Decode(file)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		whole.add(standard.Pix, m.Pix)
		crops.add(centreCrop(t, standard), centreCrop(t, m))
	}
	if whole.worst > 4 || crops.worst > 2 {
		t.Errorf("the decoders are further apart than rounding and interpolation explain: %v, crops %v", whole, crops)
	}
	t.Logf("%s: %d of %d images as Pillow; %s is off by %v; in CLIP's crops by %v", d.Name(), same, len(want), StandardDecoder().Name(), whole, crops)
}

// distance gathers how far apart pixels of images are, in grey levels.
type distance struct {
	sum, worst float64 // means of images
	most       int     // one value
	images     int
}

func (d *distance) add(a, b []uint8) {
	mean, most, _ := apartBy(a, b)
	d.sum, d.worst, d.most, d.images = d.sum+mean, max(d.worst, mean), max(d.most, most), d.images+1
}

func (d distance) String() string {
	return fmt.Sprintf("%.3f grey levels on average, %.3f in the worst image, %d at most", d.sum/float64(d.images), d.worst, d.most)
}

// TestTurboGoldenCrops: CLIP's crops from the bytes of the files, exactly.
func TestTurboGoldenCrops(t *testing.T) {
	d := turbo(t)
	folder, list := goldens(t)
	for _, g := range list {
		m, err := d.Decode(readFile(t, realdata.Folder(t, "imagenet", "images", g.Image)))
		if err != nil {
			t.Fatal(err)
		}
		if got, want := clipCrop(t, g, m), readFile(t, filepath.Join(folder, g.File)); !bytes.Equal(got, want) {
			t.Errorf("%s: %s", g.Image, differences(got, want))
		}
	}
	t.Logf("%d crops exact by %s", len(list), d.Name())
}

// TestTurboDecodesEveryForm as Pillow does, to the last bit.
func TestTurboDecodesEveryForm(t *testing.T) {
	d, python, dir := turbo(t), judge.Python(t, "PIL"), t.TempDir()
	for _, name := range strings.Fields(judge.Run(t, python, dir, pillowFormats, "61", "47")) {
		m, err := d.Decode(readFile(t, filepath.Join(dir, name)))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if want := readFile(t, filepath.Join(dir, name+".rgb")); !bytes.Equal(m.Pix, want) {
			t.Errorf("%s: %s", name, differences(m.Pix, want))
		}
	}
}

const pillowAccepts = `
import io, sys
from PIL import Image
b = open(sys.argv[1], "rb").read()
for n in map(int, sys.argv[2:]):
    try:
        Image.open(io.BytesIO(b[:n])).convert("RGB"); print("ok")
    except Exception as e:
        print("no")
`

// TestTruncatedPhotos: files that Pillow refuses are refused by both decoders,
// with a word about why.
func TestTruncatedPhotos(t *testing.T) {
	python := judge.Python(t, "PIL")
	for _, name := range []string{"n01440764_tench.JPEG", "n04008634_projectile.JPEG"} {
		path := realdata.Folder(t, "imagenet", "images", name)
		b := readFile(t, path)
		var sizes []int
		args := []string{path}
		for _, n := range []int{0, 2, 20, 300, len(b) / 4, len(b) / 2, len(b) - 500, len(b) - 20} {
			sizes, args = append(sizes, n), append(args, fmt.Sprint(n))
		}
		accepts := strings.Fields(judge.Run(t, python, "", pillowAccepts, args...))
		for i, n := range sizes {
			for _, d := range bothDecoders() {
				if _, err := d.Decode(b[:n]); (err == nil) != (accepts[i] == "ok") {
					t.Errorf("%s of %s cut to %d of %d bytes: %v; Pillow: %s", d.Name(), name, n, len(b), err, accepts[i])
				}
			}
		}
	}
}

const pillowDamaged = `
import glob, hashlib
from PIL import Image
for name in sorted(glob.glob("*.jpg")):
    try:
        print(name, hashlib.sha256(Image.open(name).convert("RGB").tobytes()).hexdigest())
    except Exception:
        print(name, "refused")
`

// TestDamagedPhotos: files that lack their last bytes are refused by both
// decoders, as Pillow refuses them; bytes too many are not; and what
// libjpeg-turbo makes of a flipped bit, if it makes anything, is what Pillow
// makes of it.
func TestDamagedPhotos(t *testing.T) {
	d, python, dir := turbo(t), judge.Python(t, "PIL"), t.TempDir()
	whole := readFile(t, realdata.Folder(t, "imagenet", "images", "n01440764_tench.JPEG"))
	rng := rand.New(rand.NewPCG(1, 1))
	files := map[string][]byte{}
	for i := range 40 {
		files[fmt.Sprintf("cut-%d.jpg", i)] = whole[:len(whole)-1-i]
		filled := append(bytes.Clone(whole[:len(whole)-2]), bytes.Repeat([]byte{0x11}, 1+rng.IntN(300))...)
		files[fmt.Sprintf("filled-%d.jpg", i)] = append(filled, 0xff, 0xd9)
		flipped := bytes.Clone(whole)
		flipped[600+rng.IntN(len(whole)-600)] ^= 1 << rng.IntN(8)
		files[fmt.Sprintf("flipped-%d.jpg", i)] = flipped
	}
	for name, b := range files {
		writeFile(t, filepath.Join(dir, name), b)
	}
	for line := range strings.Lines(judge.Run(t, python, dir, pillowDamaged)) {
		var name, digest string
		if _, err := fmt.Sscan(line, &name, &digest); err != nil {
			t.Fatal(err)
		}
		m, err := d.Decode(files[name])
		_, standard := Decode(files[name])
		refused := digest == "refused"
		if !strings.HasPrefix(name, "flipped") && (refused != (err != nil) || refused != (standard != nil)) {
			t.Errorf("%s: Pillow: %s; %v; %v", name, digest, err, standard)
		}
		if err == nil && sha256Hex(m.Pix) != digest {
			t.Errorf("%s: other pixels than Pillow's: %s", name, digest)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	file, err := os.ReadFile(realdata.Folder(b, "imagenet", "images", "n01440764_tench.JPEG"))
	if err != nil {
		b.Fatal(err)
	}
	run := func(name string, d Decoder) {
		b.Run(name+"/500x375", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := d.Decode(file); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
	run("standard", StandardDecoder())
	if d, err := OpenDecoder("auto"); err == nil && d != StandardDecoder() {
		run("libjpeg-turbo", d)
	}
}

func sha256Hex(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
