package pixel

// Extensions are the file name extensions, in lower case, of the formats of
// Decode.
var Extensions = []string{".jpg", ".jpeg", ".png", ".gif", ".bmp", ".webp"}

// Image is a decoded image: 8 bits per channel, RGB, rows from the top.
type Image struct {
	Width, Height int
	Pix           []uint8 // Height x Width x 3
}

// row is the bytes of a row of pixels.
func (m *Image) row(y int) []uint8 { return m.Pix[3*m.Width*y:][:3*m.Width] }
