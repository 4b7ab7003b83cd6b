package main

import (
	"bytes"
	"encoding/binary"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// picture writes a grey PNG, under any file name: picture WIDTH HEIGHT FILE...
func picture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: picture WIDTH HEIGHT FILE...")
	}
	width, err := strconv.Atoi(args[0])
	ts.Check(err)
	height, err := strconv.Atoi(args[1])
	ts.Check(err)
	for i, name := range args[2:] {
		m := image.NewGray(image.Rect(0, 0, width, height))
		m.Pix[0] = uint8(i)
		var b bytes.Buffer
		ts.Check(png.Encode(&b, m))
		file := ts.MkAbs(name)
		ts.Check(os.MkdirAll(filepath.Dir(file), 0o777))
		ts.Check(os.WriteFile(file, b.Bytes(), 0o666))
	}
}

// badPalette writes a BMP of 8 x 8 pixels, all of colour 200 in a palette of two: badpalette FILE...
func badPalette(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: badpalette FILE...")
	}
	const side, colours, head = 8, 2, 54
	b := []byte("BM")
	for _, v := range []uint32{head + 4*colours + side*side, 0, head + 4*colours, 40, side, side, 1 | 8<<16, 0, side * side, 0, 0, colours, 0, 0, 0xffffff} {
		b = binary.LittleEndian.AppendUint32(b, v)
	}
	b = append(b, bytes.Repeat([]byte{200}, side*side)...)
	for _, name := range args {
		ts.Check(os.WriteFile(ts.MkAbs(name), b, 0o666))
	}
}
