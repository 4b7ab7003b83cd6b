package pixel

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"pipe/internal/judge"
	"pipe/internal/realdata"
)

// noise is a picture that no smoothing hides an error in: random pixels with
// hard edges, so that sums leave 0..255 on both sides.
func noise(w, h int, seed uint64) *Image {
	rng := rand.New(rand.NewPCG(seed, 7))
	m := &Image{Width: w, Height: h, Pix: make([]uint8, 3*w*h)}
	for i := range m.Pix {
		if v := rng.IntN(512); v > 255 {
			m.Pix[i] = uint8(v & 1 * 255)
		} else {
			m.Pix[i] = uint8(v)
		}
	}
	return m
}

const pillowResize = `
import json, sys
from PIL import Image
for job in json.load(open("jobs.json")):
    img = Image.frombytes("RGB", (job["W"], job["H"]), open(job["From"], "rb").read())
    how = {"bicubic": Image.BICUBIC, "bilinear": Image.BILINEAR}[job["How"]]
    open(job["To"], "wb").write(img.resize((job["OutW"], job["OutH"]), how).tobytes())
`

// TestResizeIsPillows holds whole pictures and random boxes of them against
// Pillow's resize, bit for bit.
func TestResizeIsPillows(t *testing.T) {
	python, dir := judge.Python(t, "PIL"), t.TempDir()
	type job struct {
		W, H, OutW, OutH int
		How              Interpolation
		From, To         string
	}
	var jobs []job
	var pictures []*Image
	for i, size := range [][4]int{
		{500, 375, 298, 224},
		{333, 500, 224, 336},
		{100, 80, 280, 224},
		{64, 64, 64, 32},
		{64, 64, 32, 64},
		{7, 9, 7, 9},
		{1, 1, 5, 3},
		{9, 1, 3, 8},
		{1200, 30, 90, 8},
		{31, 1100, 8, 283},
		{100, 250, 50, 125},
		{31, 62, 8, 16},
		{90, 100, 89, 60},
		{17, 23, 400, 541},
		{256, 199, 255, 198},
	} {
		for _, how := range []Interpolation{Bicubic, Bilinear} {
			name := fmt.Sprintf("%d-%s", i, how)
			m := noise(size[0], size[1], uint64(i))
			writeFile(t, filepath.Join(dir, name), m.Pix)
			pictures = append(pictures, m)
			jobs = append(jobs, job{size[0], size[1], size[2], size[3], how, name, name + ".out"})
		}
	}
	b, err := json.Marshal(jobs)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "jobs.json"), b)
	judge.Run(t, python, dir, pillowResize)
	rng := rand.New(rand.NewPCG(1, 2))
	for i, j := range jobs {
		f, err := j.How.filter()
		if err != nil {
			t.Fatal(err)
		}
		all := image.Rect(0, 0, j.OutW, j.OutH)
		got, want := resize(pictures[i], j.OutW, j.OutH, f, all), readFile(t, filepath.Join(dir, j.To))
		if !bytes.Equal(got.Pix, want) {
			t.Errorf("%v: %s", j, differences(got.Pix, want))
		}
		for range 5 {
			x, y := rng.IntN(j.OutW), rng.IntN(j.OutH)
			box := image.Rect(x, y, x+1+rng.IntN(j.OutW-x), y+1+rng.IntN(j.OutH-y))
			if part := resize(pictures[i], j.OutW, j.OutH, f, box); !bytes.Equal(part.Pix, cut(got, box).Pix) {
				t.Errorf("%v: the box %v differs from the same part of the whole", j, box)
			}
		}
	}
}

// cut copies a part of a picture.
func cut(m *Image, box image.Rectangle) *Image {
	out := &Image{Width: box.Dx(), Height: box.Dy()}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		out.Pix = append(out.Pix, m.Pix[3*(y*m.Width+box.Min.X):3*(y*m.Width+box.Max.X)]...)
	}
	return out
}

// differences says how far apart two sequences of pixel values are.
func differences(a, b []uint8) string {
	mean, most, count := apartBy(a, b)
	return fmt.Sprintf("%d of %d and %d values differ, by %.4f on average and %d at most", count, len(a), len(b), mean, most)
}

func apartBy(a, b []uint8) (mean float64, most, count int) {
	sum := 0
	for i := range min(len(a), len(b)) {
		d := max(int(a[i])-int(b[i]), int(b[i])-int(a[i]))
		sum += d
		most = max(most, d)
		if d != 0 {
			count++
		}
	}
	return float64(sum) / float64(max(len(a), 1)), most, count
}

// golden is one image of golden_clip_preprocess.
type golden struct {
	Image, File string
	Resized     [2]int
	Crop        [2]int `json:"crop_left_top"`
}

func goldens(t testing.TB) (folder string, list []golden) {
	folder = realdata.Folder(t, "imagenet", "golden_clip_preprocess")
	var index struct{ Images []golden }
	if err := json.Unmarshal(readFile(t, filepath.Join(folder, "index.json")), &index); err != nil || len(index.Images) == 0 {
		t.Fatal(err, len(index.Images))
	}
	return folder, index.Images
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func writeFile(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
}

const pillowDecode = `
import sys
from PIL import Image
img = Image.open(sys.argv[1]).convert("RGB")
open(sys.argv[2], "wb").write(img.tobytes())
print(*img.size)
`

// pillowPixels decodes an image with Pillow.
func pillowPixels(t testing.TB, python, path string) *Image {
	out, m := filepath.Join(t.TempDir(), "pixels"), &Image{}
	size := judge.Run(t, python, "", pillowDecode, path, out)
	if _, err := fmt.Sscan(size, &m.Width, &m.Height); err != nil {
		t.Fatal(err)
	}
	m.Pix = readFile(t, out)
	return m
}

// TestGoldenCrops: CLIP's preprocessing as Pillow and torchvision do it, from
// the pixels that Pillow decodes exactly, from those of the standard decoder
// within 2 grey levels on average.
func TestGoldenCrops(t *testing.T) {
	folder, list := goldens(t)
	python := judge.Python(t, "PIL")
	for _, g := range list {
		want := readFile(t, filepath.Join(folder, g.File))
		path := realdata.Folder(t, "imagenet", "images", g.Image)
		exact := clipCrop(t, g, pillowPixels(t, python, path))
		if !bytes.Equal(exact, want) {
			t.Errorf("%s from Pillow's pixels: %s", g.Image, differences(exact, want))
		}
		m, err := StandardDecoder().Decode(readFile(t, path))
		if err != nil {
			t.Fatal(err)
		}
		near := clipCrop(t, g, m)
		mean, _, _ := apartBy(near, want)
		if mean > 2 {
			t.Errorf("%s by the %s decoder: %s", g.Image, StandardDecoder().Name(), differences(near, want))
		}
		t.Logf("%s: Pillow's pixels: exact; %s decoder: %s", g.Image, StandardDecoder().Name(), differences(near, want))
	}
}

func clipCrop(t *testing.T, g golden, m *Image) []uint8 {
	p := CLIPPreprocess(224)
	if size, crop := resized(m, p.Resize), p.crop(resized(m, p.Resize), Centre()); size != image.Pt(g.Resized[0], g.Resized[1]) || crop.Min != image.Pt(g.Crop[0], g.Crop[1]) {
		t.Errorf("%s: resized to %v and cropped at %v, want %v and %v", g.Image, size, crop.Min, g.Resized, g.Crop)
	}
	return centreCrop(t, m)
}

// centreCrop is what CLIP sees of an image.
func centreCrop(t *testing.T, m *Image) []uint8 {
	p := CLIPPreprocess(224)
	prepared, err := p.Prepare(m, []View{Centre()})
	if err != nil {
		t.Fatal(err)
	}
	dst := make([]uint8, p.Len())
	if err := prepared.Pixels(dst, Centre()); err != nil {
		t.Fatal(err)
	}
	return dst
}

func BenchmarkPrepare(b *testing.B) {
	m := noise(500, 375, 1)
	for _, how := range []Interpolation{Bicubic, Bilinear} {
		p := CLIPPreprocess(224)
		p.Interpolation = how
		dst := make([]float32, p.Len())
		b.Run(string(how)+"/500x375", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				prepared, err := p.Prepare(m, []View{Centre()})
				if err == nil {
					err = prepared.Fill(dst, Centre())
				}
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
