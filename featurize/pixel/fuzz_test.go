package pixel

import (
	"os"
	"path/filepath"
	"testing"

	"pipe/internal/realdata"
)

// Preprocessing that others wrote is that of CLIP, an error, or one that can be
// done: never a panic.
func FuzzReadPreprocess(f *testing.F) {
	f.Add([]byte(`{"size": {"shortest_edge": 224}, "crop_size": {"height": 224, "width": 224}, "image_mean": [0.5, 0.5, 0.5], "image_std": [1, 1, 1], "resample": 3}`))
	f.Add([]byte(`{"size": 224, "crop_size": 1099511627776, "do_normalize": false, "rescale_factor": 0.00392156862745098}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		folder := t.TempDir()
		if err := os.WriteFile(filepath.Join(folder, "preprocessor_config.json"), text, 0o666); err != nil {
			t.Fatal(err)
		}
		p, found, err := ReadPreprocess(folder)
		if err != nil {
			return
		}
		if err := p.Validate(); err != nil || !found {
			t.Fatalf("%+v: %v", p, err)
		}
		if p.Len() > 3*maxInputSide*maxInputSide || p.Len() < 3 {
			t.Fatalf("images of %d values", p.Len())
		}
	})
}

// The files of the real CLIP say what its defaults are.
func TestPreprocessOfRealCLIP(t *testing.T) {
	p, found, err := ReadPreprocess(realdata.Folder(t, "tokenizers", "clip-vit-large-patch14"))
	if err != nil || !found || p != CLIPPreprocess(224) {
		t.Errorf("%+v, %t, %v", p, found, err)
	}
}
