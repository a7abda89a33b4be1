// Command sbom writes what a Go program was built from, in the JSON of CycloneDX 1.6:
//
//	sbom PROGRAM DOCUMENT
//
// It reads what the Go linker has written into the program, so that nothing is listed that
// is not in it. https://cyclonedx.org/docs/1.6/json/
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path"
	"runtime/debug"
	"strings"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: sbom PROGRAM DOCUMENT")
		os.Exit(2)
	}
	if err := write(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(1)
	}
}

func write(program, document string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	text, err := json.MarshalIndent(describe(info, hex.EncodeToString(sum[:])), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(document, append(text, '\n'), 0o644)
}

// bom is a document. Its fields are those of CycloneDX.
type bom struct {
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Component component `json:"component"`
}

type component struct {
	Type       string     `json:"type"`
	Ref        string     `json:"bom-ref"`
	Name       string     `json:"name"`
	Version    string     `json:"version,omitempty"`
	PURL       string     `json:"purl"`
	Hashes     []hash     `json:"hashes,omitempty"`
	Properties []property `json:"properties,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"`
}

type property struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

// describe lists the modules of a program, and Go's standard library. The linker does not
// say which module needs which: all hang on the program.
func describe(info *debug.BuildInfo, sha256 string) bom {
	program := module("application", info.Main.Path, info.Main.Version)
	program.Name = path.Base(info.Path)
	program.Hashes = []hash{{"SHA-256", sha256}}
	for _, s := range info.Settings {
		if s.Key == "GOOS" || s.Key == "GOARCH" || s.Key == "CGO_ENABLED" || strings.HasPrefix(s.Key, "vcs.") {
			program.Properties = append(program.Properties, property{"go:" + s.Key, s.Value})
		}
	}
	b := bom{
		Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata:   metadata{program},
		Components: []component{module("library", "std", strings.TrimPrefix(info.GoVersion, "go"))},
	}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		c := module("library", m.Path, m.Version)
		if m.Sum != "" {
			c.Properties = []property{{"go:sum", m.Sum}}
		}
		b.Components = append(b.Components, c)
	}
	root := dependency{Ref: program.Ref}
	for _, c := range b.Components {
		root.DependsOn = append(root.DependsOn, c.Ref)
		b.Dependencies = append(b.Dependencies, dependency{Ref: c.Ref})
	}
	b.Dependencies = append([]dependency{root}, b.Dependencies...)
	return b
}

func module(kind, path, version string) component {
	// https://github.com/package-url/purl-spec/blob/main/types-doc/golang-definition.md
	purl := "pkg:golang/" + path + "@" + url.PathEscape(version)
	return component{Type: kind, Ref: purl, Name: path, Version: version, PURL: purl}
}
