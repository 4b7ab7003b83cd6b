package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/package-url/packageurl-go"

	"pipe/internal/atomicfile"
	"pipe/tools/dist/archive"
	"pipe/tools/dist/debian"
	"pipe/tools/dist/npm"
	"pipe/tools/dist/sbom"
	"pipe/tools/dist/wheel"
)

// platform writes the artifacts of a platform. binary is its program; without one it is compiled.
func (d *dist) platform(ctx context.Context, t target, kinds []string, binary string) error {
	library, texts, err := d.runtimeOf(ctx, t)
	if err != nil {
		return err
	}
	texts = append(texts, "LICENSE")
	share, err := d.share(ctx, binary)
	if err != nil {
		return err
	}
	sum, err := sumOf(library)
	if err != nil {
		return err
	}
	parts := []sbom.Part{{URL: packageurl.PackageURL{Type: packageurl.TypePyPi, Name: "onnxruntime", Version: versionOf(library)}, SHA256: sum}}
	in := debian.Input{Version: d.version, Arch: t.arch, Library: library, Share: share, Time: d.time}
	for _, kind := range kinds {
		bare, cloud := strings.CutPrefix(kind, "cloud-")
		if in.Binary = binary; cloud {
			in.Binary, err = d.program(ctx, t, "cloud")
		} else if binary == "" {
			in.Binary, err = d.program(ctx, t, "")
		}
		var notices string
		if err == nil {
			notices, err = d.notices(ctx, t, in.Binary)
		}
		if err == nil {
			in.Texts = append(slices.Clone(texts), notices)
			err = d.kind(ctx, t, bare, in, parts)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", kind, err)
		}
	}
	return nil
}

// kind writes an artifact. Packages and images are for Linux only.
func (d *dist) kind(ctx context.Context, t target, kind string, in debian.Input, parts []sbom.Part) error {
	program := "pipe"
	if strings.HasSuffix(in.Binary, "-cloud") {
		program = "pipe-cloud"
	}
	switch {
	case kind == "archive":
		return d.archive(t, program, in, parts)
	case kind == "deb" && t.os == "linux":
		return d.artifact(fmt.Sprintf("%s_%s_%s.deb", debian.Name, debian.Version(d.version), t.arch), in.Binary, parts,
			func(path string) error { return create(path, func(f io.Writer) error { return debian.Write(f, in) }) })
	case kind == "image" && t.os == "linux":
		return d.imageOf(ctx, program, in, parts)
	case kind == "deb" || kind == "image":
		return nil
	case kind == "wheel":
		return d.wheel(in)
	}
	panic("a kind that is not in allKinds: " + kind)
}

// wheel writes the Python package. ONNX Runtime is not in it: another wheel has it.
func (d *dist) wheel(from debian.Input) error {
	in := wheel.Input{Version: d.version, Binary: from.Binary, Source: "clients/python", Licenses: []string{"LICENSE", from.Texts[len(from.Texts)-1]}, Time: d.time}
	name, err := wheel.Name(in)
	if err != nil {
		return err
	}
	return d.artifact(name, from.Binary, nil, func(path string) error {
		return create(path, func(f io.Writer) error { return wheel.Write(f, in) })
	})
}

// npm writes the package for JavaScript, which is the same on all platforms. It contains no software of others: what it depends on is in
// its package.json.
func (d *dist) npm() error {
	in := npm.Input{Version: d.version, Folder: "clients/node", License: "LICENSE", Time: d.time}
	return d.artifact("pipe-defer-"+d.version+".tgz", "", nil, func(path string) error {
		return create(path, func(f io.Writer) error { return npm.Write(f, in) })
	})
}

func (d *dist) archive(t target, program string, from debian.Input, parts []sbom.Part) error {
	folder := fmt.Sprintf("%s-%s-%s", program, d.version, t)
	in := archive.Input{Folder: folder, Program: program, Binary: from.Binary, Library: from.Library, Texts: from.Texts, Share: from.Share, Time: d.time}
	return d.artifact(folder+".tar.gz", from.Binary, parts, func(path string) error {
		return create(path, func(f io.Writer) error { return archive.Write(f, in) })
	})
}

// imageOf writes an image where there is apt to get Debian's libraries.
func (d *dist) imageOf(ctx context.Context, program string, in debian.Input, parts []sbom.Part) error {
	if lacks := lacksForImage(); lacks != "" {
		fmt.Fprintf(os.Stderr, "dist: no image for %s: it needs %s, for the libraries of Debian 12\n", in.Arch, lacks)
		return nil
	}
	root, versions, err := d.debianRoot(ctx, in.Arch)
	if err != nil {
		return err
	}
	parts = slices.Clone(parts)
	for _, name := range slices.Sorted(maps.Keys(versions)) {
		parts = append(parts, sbom.Part{URL: packageurl.PackageURL{
			Type: packageurl.TypeDebian, Namespace: "debian", Name: name, Version: versions[name],
			Qualifiers: packageurl.QualifiersFromMap(map[string]string{"arch": in.Arch}),
		}})
	}
	return d.artifact(fmt.Sprintf("%s-%s-linux-%s.oci.tar", program, d.version, in.Arch), in.Binary, parts,
		func(path string) error { return d.image(ctx, path, program, in, root) })
}

// lacksForImage names what is not here of what an image needs, "" if all is.
func lacksForImage() string {
	for _, needed := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(needed); err != nil {
			return needed
		}
	}
	system, err := os.ReadFile("/etc/os-release")
	if err != nil || !bytes.Contains(system, []byte("\nID=debian\n")) || !bytes.Contains(system, []byte("VERSION_ID=\"12\"")) {
		return "Debian 12"
	}
	return ""
}

// artifact writes an artifact and its SBOM. binary is the program in it, "" if there is none.
func (d *dist) artifact(name, binary string, parts []sbom.Part, write func(path string) error) error {
	path := filepath.Join(d.out, name)
	if err := write(path); err != nil {
		return err
	}
	sum, err := sumOf(path)
	if err != nil {
		return err
	}
	in := sbom.Input{Artifact: name, SHA256: sum, Version: d.version, Binary: binary, Parts: parts, Time: d.time}
	if err := create(path+".cdx.json", func(f io.Writer) error { return sbom.Write(f, in) }); err != nil {
		return err
	}
	info, err := os.Stat(path)
	if err == nil {
		fmt.Fprintf(os.Stderr, "dist: %s, %.1f MB\n", name, float64(info.Size())/1e6)
	}
	return err
}

// sums writes SHA256SUMS of all artifacts and SBOMs in the folder.
func (d *dist) sums() error {
	entries, err := os.ReadDir(d.out)
	if err != nil {
		return err
	}
	var text bytes.Buffer
	for _, e := range entries {
		if e.IsDir() || e.Name() == "SHA256SUMS" {
			continue
		}
		sum, err := sumOf(filepath.Join(d.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, e.Name())
	}
	return atomicfile.WriteFile(filepath.Join(d.out, "SHA256SUMS"), text.Bytes())
}
