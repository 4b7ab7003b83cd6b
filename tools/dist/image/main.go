// Command image writes a container image of one layer as an OCI archive, without a daemon.
//
//	go run . -root root.tar -arch amd64 -version 1.2.3 -time 1700000000 -out image.tar
//
// It is a separate module: the library for images has many dependencies, which the rest does not need.
package main

import (
	"flag"
	"fmt"
	"os"
	"time"
)

func main() {
	var in Input
	var out string
	var seconds int64
	flag.StringVar(&in.Root, "root", "", "tar archive of the image's files")
	flag.StringVar(&in.Name, "name", "pipe", "name of the image")
	flag.StringVar(&in.Arch, "arch", "", "architecture, as Go names it")
	flag.StringVar(&in.Version, "version", "", "version of the program")
	flag.Int64Var(&seconds, "time", 0, "time of the image in seconds since 1970")
	flag.StringVar(&out, "out", "", "the archive to write")
	flag.Parse()
	in.Time = time.Unix(seconds, 0).UTC()
	if err := write(out, in); err != nil {
		fmt.Fprintln(os.Stderr, "image: error:", err)
		os.Exit(1)
	}
}

// write leaves no file behind that is not complete.
func write(out string, in Input) error {
	f, err := os.Create(out + ".tmp")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	if err := Write(f, in); err != nil {
		return fmt.Errorf("write image: %w", err)
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), out)
}
