package inspect

import (
	"errors"

	"pipe/featurize/jpegturbo"
)

// JPEGCheck tells about libjpeg-turbo, which is a choice and not needed: its absence is no failure.
type JPEGCheck struct {
	OK      bool     `json:"ok"`
	Library string   `json:"library,omitempty"`
	Name    string   `json:"name,omitempty"` // the decoder's, as a build records it
	Tried   []string `json:"tried"`
	Error   string   `json:"error,omitempty"`
	Hint    string   `json:"hint,omitempty"`
	missing bool
}

func (c *Checkup) checkJPEG() {
	r := &c.JPEG
	r.Library, r.Tried, _ = jpegturbo.Locate("") // Open below reports the same error
	l, err := jpegturbo.Open("")
	if err != nil {
		r.Error, r.Hint = err.Error(), hintOf(err)
		var missing *jpegturbo.MissingLibraryError
		r.missing = errors.As(err, &missing)
		return
	}
	r.OK, r.Name = true, l.Name()
}

// lines are what the checkup says for a terminal, by caption.
func (r *JPEGCheck) lines() [][2]string {
	switch {
	case r.OK:
		return [][2]string{{"libjpeg-turbo", "ok: " + r.Name + ", at " + r.Library}}
	case r.missing:
		return [][2]string{{"libjpeg-turbo", "not found (JPEG is decoded by Go)"}, {"", r.Hint}}
	default:
		return [][2]string{{"libjpeg-turbo", "not usable, so that decoder auto is an error (standard is not): " + r.Error}, {"", r.Hint}}
	}
}
