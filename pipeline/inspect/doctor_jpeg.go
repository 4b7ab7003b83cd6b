package inspect

import (
	"errors"

	"pipe/featurize/jpegturbo"
)

// JPEGCheck describes libjpeg-turbo, which is optional: its absence is not a failure.
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

// lines are the lines of the checkup for a terminal, with captions.
func (r *JPEGCheck) lines() [][2]string {
	switch {
	case r.OK:
		return [][2]string{{"libjpeg-turbo", "ok: " + r.Name + ", at " + r.Library}}
	case r.missing:
		return [][2]string{{"libjpeg-turbo", "not found (JPEG is decoded by Go)"}, {"", r.Hint}}
	default:
		return [][2]string{{"libjpeg-turbo", "not usable; decoder auto fails, standard works: " + r.Error}, {"", r.Hint}}
	}
}
