package featurize

import (
	"encoding/json"
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

// The metadata of a file is an encoder's, an error, or not there.
func FuzzParseEncoderInfo(f *testing.F) {
	p := CLIPPreprocess(32)
	for _, info := range []EncoderInfo{{Input: InputText, MaxLength: 7}, {Input: InputImage, Preprocess: &p}} {
		text, err := json.Marshal(info)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text))
	}
	f.Fuzz(func(t *testing.T, text string) {
		info, ok, err := ParseEncoderInfo(map[string]string{keyEncoder + "format": graphFormat, keyEncoder + "info": text})
		if !ok {
			t.Fatal("not taken for an encoder's")
		}
		if err == nil && (info.Input == InputText) != (info.MaxLength > 0 && info.Input != InputImage) {
			t.Fatalf("%+v", info)
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
