package featurize

import (
	"fmt"
	"slices"
	"strings"
)

// View is one way of looking at an image: a recipe, not pixels, so that several
// experts with inputs of different shapes can follow it.
type View struct {
	Name   string
	Mirror bool // left and right exchanged
	DX, DY int  // shift in pixels, right and down; the gap repeats the edge
}

// viewNames lists what ParseView knows, in a useful order.
var viewNames = []string{"image", "mirror", "left", "right", "up", "down"}

// ParseView returns the view of a name: image, mirror, or a shift by pixels to
// the left, right, up or down. The error lists the known names.
func ParseView(name string, pixels int) (View, error) {
	v := View{Name: name}
	switch name {
	case "image":
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
	}
	if !slices.Contains(viewNames, name) {
		return View{}, fmt.Errorf("unknown view %q; known are %s", name, strings.Join(viewNames, ", "))
	}
	if pixels <= 0 {
		return View{}, fmt.Errorf("view %q shifts by %d pixels; at least 1 is needed", name, pixels)
	}
	return v, nil
}

// column returns the column of the image that the view shows at column x.
func (v View) column(x, width int) int {
	x = min(max(x-v.DX, 0), width-1)
	if v.Mirror {
		return width - 1 - x
	}
	return x
}

func (v View) row(y, height int) int { return min(max(y-v.DY, 0), height-1) }
