package pixel

import (
	"fmt"
	"slices"
	"strings"
)

// View describes a crop or variant of an image. It has no pixels, so that
// several experts with inputs of different shapes can use it.
type View struct {
	Name   string
	Corner Corner  // position of the crop; "": in the centre
	Share  float64 // side of the crop as a share of the image's shorter side; 0: as given by Preprocess.Resize
	Mirror bool    // flip the crop horizontally
	DX, DY int     // shift of the crop in pixels, right and down; the gap is filled with the edge
}

// Corner is a corner of the central square of a resized image.
type Corner string

// The corners (Krizhevsky, Sutskever and Hinton 2012, section 4.1).
const (
	TopLeft     Corner = "top-left"
	TopRight    Corner = "top-right"
	BottomLeft  Corner = "bottom-left"
	BottomRight Corner = "bottom-right"
)

var corners = []Corner{TopLeft, TopRight, BottomLeft, BottomRight}

// viewNames lists the views of ParseView besides corners, in order of
// usefulness.
var viewNames = []string{"centre", "mirror", "left", "right", "up", "down"}

// Centre returns the plain view: the unchanged crop in the centre.
func Centre() View { return View{Name: "centre"} }

// ParseView returns the view of a name: centre, mirror, one of the corners
// (top-left, ...) or its mirror image (mirror-top-left, ...), or a shift of the
// centre by some pixels to the left, right, up or down. The error lists the
// known names.
func ParseView(name string, pixels int) (View, error) {
	v := View{Name: name}
	corner, mirrored := strings.CutPrefix(name, "mirror-")
	if slices.Contains(corners, Corner(corner)) {
		v.Corner, v.Mirror = Corner(corner), mirrored
		return v, nil
	}
	switch name {
	case "centre":
		return v, nil
	case "mirror":
		v.Mirror = true
		return v, nil
	case "left":
		v.DX = -pixels
	case "right":
		v.DX = pixels
	case "up":
		v.DY = -pixels
	case "down":
		v.DY = pixels
	default:
		return View{}, fmt.Errorf("unknown view %q; known are %s and, alone or after mirror-, %s, %s, %s, %s",
			name, strings.Join(viewNames, ", "), TopLeft, TopRight, BottomLeft, BottomRight)
	}
	if pixels <= 0 {
		return View{}, fmt.Errorf("view %q shifts by %d pixels; the shift must be at least 1", name, pixels)
	}
	return v, nil
}

// column returns the column of the crop that appears at column x of the view.
func (v View) column(x, width int) int {
	x = min(max(x-v.DX, 0), width-1)
	if v.Mirror {
		return width - 1 - x
	}
	return x
}

func (v View) row(y, height int) int { return min(max(y-v.DY, 0), height-1) }
