package classlist

import (
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pipe/costs"
	"pipe/experts/builder/parttest"
	"pipe/internal/fuzztest"
	"pipe/internal/realdata"
	"pipe/internal/storage"
)

func TestReadClasses(t *testing.T) {
	dir := t.TempDir()
	for name, c := range map[string]struct {
		text       string
		ids, names []string
	}{
		"index, any order": {"{\"1\": [\"n2\", \"cat\"],\n\"0\": [\"n1\", \"cat\"]}", []string{"n1", "n2"}, []string{"cat", "cat"}},
		"list":             {` ["a b", "c"] `, []string{"a b", "c"}, []string{"a b", "c"}},
		"lines":            {"\ufeffa b\r\nc\r\n\n", []string{"a b", "c"}, []string{"a b", "c"}},
	} {
		parttest.Write(t, filepath.Join(dir, "classes"), c.text)
		got, err := read(t.Context(), storage.File(filepath.Join(dir, "classes")))
		if err != nil || !reflect.DeepEqual(got.IDs, c.ids) || !reflect.DeepEqual(got.Names, c.names) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestReadClassesRefuses(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"":     "is empty",
		" \n ": "is empty",
		"\xff": "not UTF-8",
		"{}":   "has no classes",
		"[]":   "has no classes",
		"{\"0\": [\"n1\", \"cat\"],\n\"1\": [\"n1\", \"dog\"]}": `row 2: class 1 is "n1", a duplicate of class 0`,
		"{\"0\": [\"n1\", \"cat\"],\n\"0\": [\"n2\", \"dog\"]}": "row 2: column 0: is a duplicate of row 1",
		`{"0": ["n1", "cat"], "2": ["n2", "dog"]}`:              "column 2: is too large for 2 classes, so another index is missing",
		`{"00": ["n1", "cat"]}`:                                 "column 00: is not the index",
		`{"-1": ["n1", "cat"]}`:                                 "column -1: is not the index",
		`{"0": "cat"}`:                                          "column 0: is not a pair",
		`{"0": ["n1", "cat", "x"]}`:                             "column 0: is not a pair",
		`{"0": ["n1", "cat"]`:                                   "EOF",
		`{"0": ["n1", "cat"]} x`:                                "row 1: unexpected data after",
		`{"0": ["n1", "cat"]}{}`:                                "unexpected data after",
		"[\"a\",\n3]":                                           "row 2: class 1 is not a string",
		"[\"a\",\n\" \"]":                                       "row 2: class 1 has an empty name",
		"[\"a\",\n\"b\",\n\"a\"]":                               `row 3: class 2 is "a", a duplicate of class 0`,
		"a\n\nb\n":                                              "row 2: class 1 has an empty name",
		"a\nb\na\n":                                             `row 3: class 2 is "a"`,
	} {
		parttest.Write(t, filepath.Join(dir, "classes"), text)
		_, err := read(t.Context(), storage.File(filepath.Join(dir, "classes")))
		var bad *costs.DataError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, want %q", text, err, want)
		}
	}
	if _, err := read(t.Context(), storage.File(filepath.Join(dir, "absent"))); err == nil {
		t.Error("an absent file is read")
	}
}

// TestReadClassNamesOfImageNet reads names that repeat, which are no ids.
func TestReadClassNamesOfImageNet(t *testing.T) {
	folder := realdata.Folder(t, "imagenet")
	file := filepath.Join(folder, "imagenet_classes.json")
	names, err := readNames(t.Context(), storage.File(file))
	if err != nil || len(names) != 1000 || names[0] != "tench" {
		t.Fatalf("%d names, %v", len(names), err)
	}
	if _, err := read(t.Context(), storage.File(file)); err == nil {
		t.Error("names that repeat are taken as ids")
	}
	list, err := read(t.Context(), storage.File(filepath.Join(folder, "imagenet_class_index.json")))
	if err != nil || len(list.IDs) != 1000 || list.IDs[999] != "n15075141" || list.Names[0] != "tench" {
		t.Fatalf("%+v, %v", list, err)
	}
}

// FuzzParseClasses wants lists that are aligned and errors that are about the data,
// whatever the bytes are.
func FuzzParseClasses(f *testing.F) {
	for _, seed := range []string{"", "a\nb\n", `["a", "b"]`, `{"0": ["n1", "cat"], "1": ["n2", "dog"]}`, `{"0": ["n1"`, `[{]`, "\ufeff[1]", `{"9": ["a", "b"]}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := parse(b, "classes")
		var bad *costs.DataError
		switch {
		case err != nil && !errors.As(err, &bad):
			t.Errorf("%v is no error about data", err)
		case err == nil && (len(list.IDs) == 0 || len(list.Names) != len(list.IDs) || len(list.rows) != len(list.IDs) || slices.Contains(list.IDs, "")):
			t.Errorf("%q gives %+v", b, list)
		}
	})
}

// FuzzClassFile: a file of classes is an error about the file, or distinct classes; written again by index they are the same.
// What the file may look like is FuzzParseClasses' matter.
func FuzzClassFile(f *testing.F) {
	for _, seed := range []string{"tench\ngoldfish\n", `["a", "b"]`, `{"0": ["n1", "cat"], "1": ["n2", "cat"]}`, "a\na\n", "\xff", "{", `{"0": ["a"]}`} {
		f.Add([]byte(seed))
	}
	file := fuzztest.NewFile(f, "classes")
	f.Fuzz(func(t *testing.T, b []byte) {
		list, err := read(t.Context(), storage.File(file.Write(t, b)))
		if err != nil {
			file.Blames(t, err)
			return
		}
		index := map[string]any{}
		for i, id := range list.IDs {
			index[strconv.Itoa(i)] = []string{id, list.Names[i]}
			if slices.Contains(list.IDs[:i], id) {
				t.Fatalf("%q is a duplicate", id)
			}
		}
		again, err := read(t.Context(), storage.File(file.WriteLines(t, []map[string]any{index})))
		if err != nil {
			t.Fatal(err)
		}
		fuzztest.Same(t, fmt.Sprint(again.IDs, again.Names), fmt.Sprint(list.IDs, list.Names), nil)
	})
}
