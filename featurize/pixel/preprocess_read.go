package pixel

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"pipe/internal/strictjson"
	"pipe/internal/textfile"
)

// ReadPreprocess reads preprocessor_config.json from the folder of a Hugging
// Face model. found is false if the file does not exist. Preprocessing that
// this package does not support is an error.
func ReadPreprocess(folder string) (p Preprocess, found bool, err error) {
	file := filepath.Join(folder, "preprocessor_config.json")
	b, err := textfile.ReadFile(file, textfile.MaxConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return Preprocess{}, false, nil
	}
	if err != nil {
		return Preprocess{}, false, fmt.Errorf("read preprocessing: %w", err)
	}
	var cfg preprocessorConfig
	if err := strictjson.Unmarshal(b, &cfg); err != nil {
		return Preprocess{}, false, fmt.Errorf("read preprocessing %q: %w", file, err)
	}
	p, err = cfg.preprocess()
	if err != nil {
		return Preprocess{}, false, fmt.Errorf("read preprocessing %q: %w", file, err)
	}
	return p, true, nil
}

// preprocessorConfig is the file that image processors of transformers write.
// Steps whose fields are missing are done.
type preprocessorConfig struct {
	DoResize      *bool     `json:"do_resize"`
	Size          imageSize `json:"size"`
	Resample      *int      `json:"resample"` // Pillow's number
	DoCenterCrop  *bool     `json:"do_center_crop"`
	CropSize      imageSize `json:"crop_size"`
	DoRescale     *bool     `json:"do_rescale"`
	RescaleFactor *float64  `json:"rescale_factor"`
	DoNormalize   *bool     `json:"do_normalize"`
	Mean          []float32 `json:"image_mean"`
	Std           []float32 `json:"image_std"`
}

// imageSize is a number, {"shortest_edge": n} or {"height": h, "width": w}.
type imageSize struct {
	Edge          int `json:"shortest_edge"`
	Height, Width int
}

func (s *imageSize) UnmarshalJSON(b []byte) error {
	if json.Unmarshal(b, &s.Edge) == nil {
		return nil
	}
	type plain imageSize
	return json.Unmarshal(b, (*plain)(s))
}

var resamplings = map[int]Interpolation{2: Bilinear, 3: Bicubic}

func (c *preprocessorConfig) preprocess() (Preprocess, error) {
	p := Preprocess{Layout: NCHW, Resize: c.Size.Edge, Width: c.CropSize.Width, Height: c.CropSize.Height, Std: [3]float32{1, 1, 1}}
	switch {
	case !done(c.DoResize) || c.Size.Edge == 0:
		return p, errors.New("only resizing to a shortest edge is supported")
	case !done(c.DoCenterCrop):
		return p, errors.New("only preprocessing with a centre crop is supported")
	case !done(c.DoRescale) || c.RescaleFactor != nil && float32(*c.RescaleFactor) != float32(1./255):
		return p, errors.New("only rescaling by 1/255 is supported")
	}
	if c.CropSize.Edge != 0 {
		p.Width, p.Height = c.CropSize.Edge, c.CropSize.Edge
	}
	p.Interpolation = Bicubic // the default of transformers for a CLIP without resample
	if c.Resample != nil {
		known := false
		if p.Interpolation, known = resamplings[*c.Resample]; !known {
			return p, fmt.Errorf("resample is %d; supported are 2 (bilinear) and 3 (bicubic)", *c.Resample)
		}
	}
	if done(c.DoNormalize) {
		if len(c.Mean) != 3 || len(c.Std) != 3 {
			return p, fmt.Errorf("image_mean has %d values and image_std %d; both need 3", len(c.Mean), len(c.Std))
		}
		p.Mean, p.Std = [3]float32(c.Mean), [3]float32(c.Std)
	}
	return p, p.Validate()
}

func done(flag *bool) bool { return flag == nil || *flag }
