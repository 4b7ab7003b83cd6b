package main

import (
	"archive/tar"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// Input is what an image is made of.
type Input struct {
	Name    string
	Root    string // path of a tar archive of its files
	Arch    string // as Go names it
	Version string
	Time    time.Time
}

// user is without rights, and has no entry of a person or a service in any system.
const user = "65532:65532"

// config is how a container starts: as a server of the policies in /policies, which have to be mounted there. It listens at the
// loopback address of the container: what does not share its network cannot ask, as there are no keys.
func config() v1.Config {
	return v1.Config{
		User:         user,
		WorkingDir:   "/data",
		Entrypoint:   []string{"/usr/bin/pipe"},
		Cmd:          []string{"serve", "--policy", "/policies", "--listen", "127.0.0.1:8080"},
		Env:          []string{"PATH=/usr/bin", "HOME=/tmp"},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}},
		Healthcheck: &v1.HealthConfig{
			Test:     []string{"CMD", "/usr/bin/pipe", "doctor", "--quiet", "--server", "http://127.0.0.1:8080"},
			Interval: 30 * time.Second, Timeout: 10 * time.Second, StartPeriod: 10 * time.Second, Retries: 3,
		},
	}
}

// build makes the image.
func build(in Input) (v1.Image, error) {
	layer, err := tarball.LayerFromFile(in.Root, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	image := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	image = mutate.ConfigMediaType(image, types.OCIConfigJSON)
	image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{Created: v1.Time{Time: in.Time}, CreatedBy: "make dist"}})
	if err != nil {
		return nil, err
	}
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created, file.Config = "linux", in.Arch, v1.Time{Time: in.Time}, config()
	file.Config.Labels = map[string]string{
		"org.opencontainers.image.title":    in.Name,
		"org.opencontainers.image.version":  in.Version,
		"org.opencontainers.image.licenses": "Apache-2.0",
	}
	return mutate.ConfigFile(image, file)
}

// Write writes an OCI archive: the image layout as a tar archive.
func Write(w io.Writer, in Input) error {
	image, err := build(in)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "image-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	at, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	name := layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": in.Version,
		"io.containerd.image.name":          "docker.io/library/" + in.Name + ":" + in.Version, // by which docker load names it
	})
	if err := at.AppendImage(image, name); err != nil {
		return err
	}
	return pack(w, dir, in.Time)
}

// pack writes the files below dir in the order of their names.
func pack(w io.Writer, dir string, at time.Time) error {
	t := tar.NewWriter(w)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if err := t.WriteHeader(&tar.Header{Name: filepath.ToSlash(name), Mode: 0o644, Size: info.Size(), ModTime: at, Format: tar.FormatGNU}); err != nil {
			return err
		}
		f, err := os.Open(path)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = io.Copy(t, f)
		return err
	})
	if err != nil {
		return err
	}
	return t.Close()
}
