package pixel

import "fmt"

// Pool writes the mean colour of each cell of a grid x grid partition into
// dst: grid x grid x 3 values in 0..1, cells by row, channels innermost. Cell i
// of an axis of n pixels covers the pixels from i*n/grid to (i+1)*n/grid.
func Pool(dst []float32, img *Image, grid int) error {
	if grid <= 0 || img.Width < grid || img.Height < grid {
		return fmt.Errorf("pool image: %d x %d pixels are too few for a grid of %d x %d", img.Width, img.Height, grid, grid)
	}
	for gy := range grid {
		for gx := range grid {
			poolCell(dst[3*(gy*grid+gx):], img,
				gx*img.Width/grid, (gx+1)*img.Width/grid, gy*img.Height/grid, (gy+1)*img.Height/grid)
		}
	}
	return nil
}

func poolCell(dst []float32, img *Image, x0, x1, y0, y1 int) {
	var sum [3]uint64 // integers, so that the mean does not depend on the order
	for y := y0; y < y1; y++ {
		p := img.Pix[3*(y*img.Width+x0) : 3*(y*img.Width+x1)]
		for i := 0; i < len(p); i += 3 {
			sum[0] += uint64(p[i])
			sum[1] += uint64(p[i+1])
			sum[2] += uint64(p[i+2])
		}
	}
	n := float64((x1-x0)*(y1-y0)) * 255
	for c := range 3 {
		dst[c] = float32(float64(sum[c]) / n)
	}
}
