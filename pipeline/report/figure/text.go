package figure

import (
	"strings"

	"pipe/internal/safetext"
)

// advances are the widths of the characters from space to tilde in Helvetica and in the fonts made to its measure (Arial,
// Liberation Sans), in thousandths of the size.
var advances = [...]int{
	278, 278, 355, 556, 556, 889, 667, 191, 333, 333, 389, 584, 278, 333, 278, 278,
	556, 556, 556, 556, 556, 556, 556, 556, 556, 556, 278, 278, 584, 584, 584, 556,
	1015, 667, 667, 722, 722, 667, 611, 778, 722, 278, 500, 667, 556, 833, 722, 778,
	667, 778, 722, 667, 611, 722, 667, 944, 667, 667, 611, 278, 278, 278, 469, 556,
	333, 556, 556, 500, 556, 556, 278, 556, 556, 222, 222, 500, 222, 833, 556, 556,
	556, 556, 333, 500, 278, 556, 500, 722, 500, 500, 500, 334, 260, 334, 584,
}

// textWidth is how wide a text is drawn, rather too wide than too narrow: the reader may have another font.
func textWidth(s string, size float64, bold bool) float64 {
	sum := 0
	for _, r := range safetext.Line(s) {
		switch {
		case r >= ' ' && r <= '~':
			sum += advances[r-' ']
		case r < 0x1100:
			sum += 720
		default: // ideographs, emoji
			sum += 1100
		}
	}
	width := float64(sum) / 1000 * size * 1.05
	if bold {
		width *= 1.08
	}
	return width
}

// shortened cuts the middle out of a text that is wider than a width, and marks the cut. Names often differ at their ends, and pairs
// behind the last slash: that part stays, if it needs at most two thirds of the room.
func shortened(s string, width, size float64, bold bool) string {
	if textWidth(s, size, bold) <= width {
		return s
	}
	letters := []rune(s)
	part := 0
	if i := strings.LastIndex(s, "/"); i >= 0 {
		part = len([]rune(s[i:]))
	}
	for n := len(letters) - 1; n > 0; n-- {
		tail := min(max(n/3, part), (2*n+2)/3)
		head := strings.TrimRight(string(letters[:n-tail]), " ")
		if short := head + "…" + strings.TrimLeft(string(letters[len(letters)-tail:]), " "); textWidth(short, size, bold) <= width {
			return short
		}
	}
	return "…"
}

// wrapped breaks a text into lines. A word that is wider than a line is cut.
func wrapped(s string, width, size float64, bold bool) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch joined := line + " " + word; {
		case line == "":
			line = shortened(word, width, size, bold)
		case textWidth(joined, size, bold) <= width:
			line = joined
		default:
			lines = append(lines, line)
			line = shortened(word, width, size, bold)
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
