// Package sbom writes which software an artifact contains, as CycloneDX.
package sbom

import (
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"strings"
	"time"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// Part is a component that was not built here, such as a shared library.
type Part struct {
	Name, Version string
	URL           string // package URL: pkg:TYPE/NAME@VERSION
	SHA256        string // of the file; "" if it is a package of several files
}

// Input is what an SBOM is made of.
type Input struct {
	Artifact string // file name of the artifact
	SHA256   string // of the artifact
	Version  string
	Binary   string // path of the program in the artifact; it says which Go modules it links; "" if there is none
	Parts    []Part
	Time     time.Time
}

// Write writes an SBOM as JSON.
func Write(w io.Writer, in Input) error {
	components := []cdx.Component{}
	if in.Binary != "" {
		var err error
		if components, err = linked(in.Binary); err != nil {
			return fmt.Errorf("write SBOM of %s: %w", in.Artifact, err)
		}
	}
	for _, p := range in.Parts {
		components = append(components, library(p.Name, p.Version, p.URL, p.SHA256))
	}
	bom := cdx.NewBOM()
	bom.Metadata = &cdx.Metadata{
		Timestamp: in.Time.UTC().Format(time.RFC3339),
		Component: &cdx.Component{
			Type: cdx.ComponentTypeApplication, BOMRef: in.Artifact, Name: "pipe", Version: in.Version, Hashes: hashes(in.SHA256),
			Licenses: &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
		},
	}
	bom.Components = &components
	return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}

// linked are Go and the modules that a program links.
func linked(binary string) ([]cdx.Component, error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return nil, err
	}
	version := strings.TrimPrefix(info.GoVersion, "go")
	out := []cdx.Component{library("go", version, "pkg:generic/go@"+version, "")}
	for _, m := range info.Deps {
		if strings.HasPrefix(m.Version, "v0.0.0") && m.Sum == "" || m.Version == "(devel)" {
			continue // a module of this repository
		}
		out = append(out, library(m.Path, m.Version, "pkg:golang/"+m.Path+"@"+m.Version, moduleSum(m.Sum)))
	}
	return out, nil
}

func library(name, version, url, sum string) cdx.Component {
	return cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: url, Name: name, Version: version, PackageURL: url, Hashes: hashes(sum)}
}

func hashes(sum string) *[]cdx.Hash {
	if sum == "" {
		return nil
	}
	return &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: sum}}
}

// moduleSum is the SHA-256 in the line of go.sum, as hexadecimal, or "".
func moduleSum(line string) string {
	b, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(line, "h1:"))
	if err != nil {
		return ""
	}
	return hex.EncodeToString(b)
}
