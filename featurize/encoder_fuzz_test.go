package featurize

import (
	"encoding/json"
	"testing"

	"pipe/featurize/pixel"
)

// The metadata of a file is an encoder's, an error, or not there.
func FuzzParseEncoderInfo(f *testing.F) {
	p := pixel.CLIPPreprocess(32)
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
