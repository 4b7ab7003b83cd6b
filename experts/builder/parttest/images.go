package parttest

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipe/experts/builder/part"
)

// JPEG returns a JPEG file of width x height pixels. Images with different seeds differ.
func JPEG(t testing.TB, width, height int, seed uint8) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, shades(width, height, seed), nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// PNG returns a PNG file of width x height pixels.
func PNG(t testing.TB, width, height int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, shades(width, height, 7)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func shades(width, height int, seed uint8) image.Image {
	m := image.NewRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			m.SetRGBA(x, y, color.RGBA{R: seed + uint8(x), G: uint8(3*y) ^ seed, B: uint8(x * y), A: 255})
		}
	}
	return m
}

// Classes returns the folders into which Images writes images in turn.
func Classes() []string { return []string{"n1", "n2", "n3"} }

// Images writes n square JPEG files into subfolders of a folder, one for each of Classes. It returns their paths in the
// folder, such as n2/001.jpg. All images differ if n is at most 256.
func Images(t testing.TB, folder string, n, side int) (ids []string) {
	t.Helper()
	for i := range n {
		id := fmt.Sprintf("%s/%03d.jpg", Classes()[i%len(Classes())], i)
		Write(t, filepath.Join(folder, filepath.FromSlash(id)), string(JPEG(t, side, side, uint8(i))))
		ids = append(ids, id)
	}
	return ids
}

// CheckBad checks which images a source leaves out, and why. want has a part of the expected reason, by path.
func CheckBad(t testing.TB, got []part.BadImage, want map[string]string) {
	t.Helper()
	if !slices.IsSortedFunc(got, func(a, b part.BadImage) int { return strings.Compare(a.ID, b.ID) }) {
		t.Errorf("not sorted: %v", got)
	}
	left := maps.Clone(want)
	for _, bad := range got {
		if reason, ok := left[bad.ID]; !ok || !strings.Contains(bad.Reason, reason) {
			t.Errorf("%v, want %q", bad, reason)
		}
		delete(left, bad.ID)
	}
	if len(left) > 0 {
		t.Errorf("not in the list: %v", left)
	}
}
