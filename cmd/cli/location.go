package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"pipe/internal/storage"
)

// LocationVar adds a flag for a path or URL. Its default is the value of at. The value is what the user wrote, as a path:
// ParseLocations parses it.
func LocationVar(f *pflag.FlagSet, at *storage.Location, name, usage string) {
	LocationVarP(f, at, name, "", usage)
}

// LocationVarP is LocationVar with a short name.
func LocationVarP(f *pflag.FlagSet, at *storage.Location, name, short, usage string) {
	f.VarP((*locationValue)(at), name, short, usage)
}

// LocationsVar adds a flag for paths and URLs that may be repeated.
func LocationsVar(f *pflag.FlagSet, list *[]storage.Location, name, usage string) {
	f.Var((*locationsValue)(list), name, usage)
}

type locationValue storage.Location

func (v *locationValue) String() string { return storage.Location(*v).String() }
func (v *locationValue) Type() string   { return "string" }

func (v *locationValue) Set(text string) error {
	*v = locationValue(storage.File(text))
	return nil
}

type locationsValue []storage.Location

func (v *locationsValue) Type() string { return "stringArray" }

func (v *locationsValue) String() string {
	var texts []string
	for _, at := range *v {
		texts = append(texts, at.String())
	}
	return "[" + strings.Join(texts, ",") + "]"
}

func (v *locationsValue) Set(text string) error {
	*v = append(*v, storage.File(text))
	return nil
}

// Locations returns the locations of arguments that ParseLocations has seen.
func Locations(args []string) []storage.Location {
	out := make([]storage.Location, len(args))
	for i, arg := range args {
		at, err := storage.Parse(arg)
		if err != nil {
			at = storage.File(arg) // it cannot be: opening it has the error
		}
		out[i] = at
	}
	return out
}

// given is a path or URL of the command line.
type given struct {
	flag *pflag.Flag // nil: an argument
	at   storage.Location
	set  func(storage.Location) error
}

// ParseLocations parses the flags for paths and URLs, other flags for strings that are URLs, and arguments. A URL without
// parameters gets those of another one of its bucket. It is an error if two have different parameters, and what refuse
// returns for a flag. names are flags for any text. The result has the locations with parameters.
func ParseLocations(f *pflag.FlagSet, args []string, refuse func(*pflag.Flag, storage.Location) error, names ...string) (stores []storage.Location, err error) {
	list, err := locationsOf(f, args, names)
	if err != nil {
		return nil, err
	}
	for _, g := range list {
		if g.flag != nil {
			if err := refuse(g.flag, g.at); err != nil {
				return nil, err
			}
		}
		if g.at.IsRemote() && g.at.URL() != g.at.String() {
			stores = append(stores, g.at)
		}
	}
	for _, g := range list {
		for _, store := range stores {
			if g.at = g.at.With(store); !g.at.Agrees(store) {
				return nil, &storage.Error{Op: "open", URL: g.at.Bucket(), Err: fmt.Errorf("the bucket is named twice with different parameters"), Advice: "use the same parameters in all its URLs"}
			}
		}
		if err := g.set(g.at); err != nil {
			return nil, err
		}
	}
	return stores, nil
}

// locationsOf parses what the command line names.
func locationsOf(f *pflag.FlagSet, args, names []string) (list []given, err error) {
	add := func(flag *pflag.Flag, text string, set func(storage.Location) error) {
		if err != nil {
			return
		}
		var at storage.Location
		if at, err = storage.Parse(text); err == nil {
			list = append(list, given{flag, at, set})
		}
	}
	f.Visit(func(flag *pflag.Flag) {
		if slices.Contains(names, flag.Name) {
			return
		}
		switch v := flag.Value.(type) {
		case *locationValue:
			add(flag, storage.Location(*v).Path(), func(at storage.Location) error { *v = locationValue(at); return nil })
		case *locationsValue:
			for i := range *v {
				add(flag, (*v)[i].Path(), func(at storage.Location) error { (*v)[i] = at; return nil })
			}
		case pflag.SliceValue:
			texts := v.GetSlice()
			for i, text := range texts {
				add(flag, text, func(at storage.Location) error {
					if !storage.IsURL(text) {
						return nil
					}
					texts[i] = at.URL()
					return v.Replace(texts)
				})
			}
		default:
			if text := v.String(); v.Type() == "string" {
				add(flag, text, func(at storage.Location) error {
					if !storage.IsURL(text) {
						return nil
					}
					return v.Set(at.URL())
				})
			}
		}
	})
	for i, arg := range args {
		add(nil, arg, func(at storage.Location) error { args[i] = at.URL(); return nil })
	}
	return list, err
}
