package main

import (
	"bytes"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
)

// picture writes a grey PNG, whatever the name of the file: picture WIDTH HEIGHT FILE...
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
