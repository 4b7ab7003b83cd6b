package source

import (
	"maps"
	"strings"
	"testing"

	"pipe/featurize/pixel"
	"pipe/internal/fuzztest"
)

// FuzzVerdicts: whatever follows the first line of a file of checked images, what is known of an image is possible, and what is
// added is there when the file is opened again.
func FuzzVerdicts(f *testing.F) {
	f.Add([]byte("sha256:00 1a2b3c4d 12 \"\"\n"), "sha256:01", "12 \"\"", 7, "", true)
	f.Add([]byte("sha256:00 1a2b"), "sha256:01", "-3 \"\"", 0, "is no image\n", true)
	f.Add([]byte{0, 0, '\n'}, "", "0 \"cut\"", 0, "\xff", false)
	folder := f.TempDir()
	first, err := openVerdicts(f.Context(), folder, "go", pixel.DefaultLimits())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, rest []byte, digest, text string, pixels int, reason string, headed bool) {
		var b []byte
		if headed {
			b = []byte(first.head)
		}
		b = append(b, verdictRecord(digest, text)...)
		fuzztest.File(first.path).Write(t, append(b, rest...))
		open := func() *verdicts {
			v, err := openVerdicts(t.Context(), folder, "go", pixel.DefaultLimits())
			if err != nil {
				t.Fatal(err)
			}
			for sum, u := range v.known {
				if u.pixels < 0 || (u.pixels == 0) != (u.reason != "") {
					t.Fatalf("%q is %+v", sum, u)
				}
			}
			return v
		}
		v := open()
		c := checkedImage{sum: "sha256:new", usability: usability{pixels: pixels, reason: strings.ToValidUTF8(reason, "")}}
		if _, known := v.get(c.sum); known || pixels < 0 || (pixels == 0) != (c.reason != "") {
			return
		}
		was := maps.Clone(v.known)
		if err := v.add(t.Context(), []checkedImage{c}); err != nil {
			t.Fatal(err)
		}
		was[c.sum] = c.usability
		fuzztest.Same(t, open().known, was, nil)
	})
}
