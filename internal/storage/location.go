package storage

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Location is where a file or folder is: a path of this machine, or a URL of an object store. The zero Location is none.
// Locations are equal if they were written alike.
type Location struct {
	scheme string // "" for a path
	host   string // the bucket
	name   string // of an object or a prefix; the path, as it was given, if local
	query  string // the parameters, which may hold secrets
}

// File returns the location of a path of this machine, whatever it looks like.
func File(path string) Location { return Location{name: path} }

// Files is File for several.
func Files(paths ...string) []Location {
	out := make([]Location, len(paths))
	for i, p := range paths {
		out[i] = File(p)
	}
	return out
}

// Parse returns the location of a path or URL that a user wrote. "" is none. A URL that is mistyped, or whose scheme is not
// known, is an *Error.
func Parse(pathOrURL string) (Location, error) {
	if !IsURL(pathOrURL) {
		return File(pathOrURL), mistyped(pathOrURL)
	}
	l := split(pathOrURL)
	switch {
	case !l.IsRemote() && !strings.HasPrefix(l.name, "/"):
		return Location{}, refused(pathOrURL, "a file URL names no machine and has the whole path", "write file:///folder/name, or the path alone")
	case !l.IsRemote():
		return l, nil
	case !supported(l.scheme):
		return Location{}, unknownScheme(l)
	case l.host == "":
		return Location{}, refused(l.String(), "the URL names no bucket", "write "+l.scheme+"://BUCKET/NAME")
	case l.name != "" && slices.ContainsFunc(strings.Split(l.name, "/"), func(part string) bool { return part == "" || part == "." || part == ".." }):
		return Location{}, refused(l.String(), `a part of the name is empty, "." or ".."`, "pipe cannot reach objects of such names: rename them, or correct the URL")
	}
	return l, nil
}

var urlForm = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]+://`)

// IsURL reports whether a text has the form of a URL: a scheme of at least two letters and "://".
func IsURL(text string) bool { return urlForm.MatchString(text) }

// split cuts a URL into its parts.
func split(url string) Location {
	scheme, rest, _ := strings.Cut(url, "://")
	l := Location{scheme: strings.ToLower(scheme)}
	if l.scheme == fileScheme { // the authority of a file URL is empty or this machine
		return File(strings.TrimPrefix(rest, "localhost"))
	}
	rest, l.query, _ = strings.Cut(rest, "?")
	l.host, l.name, _ = strings.Cut(rest, "/")
	if at := strings.LastIndexByte(l.host, '@'); at >= 0 { // a password is no part of a bucket
		l.host = l.host[at+1:]
	}
	l.name = strings.Trim(l.name, "/")
	return l
}

// One slash is missing, which would make it a local folder.
var oneSlash = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]+):/[^/?]*`)

// mistyped is the error of a path that is nearly a URL.
func mistyped(path string) error {
	match := oneSlash.FindStringSubmatch(path)
	if match == nil {
		return nil
	}
	if scheme := strings.ToLower(match[1]); scheme == fileScheme || supported(scheme) {
		return refused(match[0], "this is neither a URL nor a local path", "write "+scheme+":// with two slashes; a local folder of that name is ./"+match[1]+":")
	}
	return nil
}

func refused(url, msg, advice string) error {
	return &Error{Op: "open", URL: url, Err: fmt.Errorf("%s", msg), Advice: advice}
}

func unknownScheme(l Location) error {
	known := Schemes()
	e := &Error{Op: "open", URL: l.String(), Err: fmt.Errorf("URLs that begin with %s:// are not supported", l.scheme)}
	switch {
	case slices.Contains([]string{"s3", "gs", "azblob"}, l.scheme):
		e.Err = fmt.Errorf("this program was built without %s://", l.scheme)
		e.Advice = "take the program pipe-cloud, or build pipe with `make build tags=cloud`; a Go program imports pipe/cloud"
	case len(known) > 0:
		e.Advice = "use a local path, file:// or " + strings.Join(known, "://, ") + "://"
	default:
		e.Advice = "use a local path"
	}
	return e
}

// IsZero reports whether it is no location.
func (l Location) IsZero() bool { return l == Location{} }

// IsRemote reports whether it is in an object store.
func (l Location) IsRemote() bool { return l.scheme != "" }

// Path is the path on this machine. That of a remote location is its URL, which no file has.
func (l Location) Path() string {
	if l.IsRemote() {
		return l.String()
	}
	return l.name
}

// String is the path or URL as errors, reports and files may show it: without parameters.
func (l Location) String() string {
	switch {
	case !l.IsRemote():
		return l.name
	case l.name == "":
		return l.Bucket()
	}
	return l.Bucket() + "/" + l.name
}

// URL is the path or URL that Parse takes: String with the parameters, which may hold secrets.
func (l Location) URL() string {
	if l.query == "" {
		return l.String()
	}
	return l.String() + "?" + l.query
}

// Bucket is the URL of the bucket of a remote location, without parameters.
func (l Location) Bucket() string { return l.scheme + "://" + l.host }

// MarshalText is String.
func (l Location) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText is Parse.
func (l *Location) UnmarshalText(text []byte) (err error) {
	*l, err = Parse(string(text))
	return err
}

// With returns a remote location with the parameters of another one of the same bucket, if it has none.
func (l Location) With(other Location) Location {
	if l.IsRemote() && l.query == "" && l.Bucket() == other.Bucket() {
		l.query = other.query
	}
	return l
}

// Agrees reports whether two locations are in different buckets or have the same parameters.
func (l Location) Agrees(other Location) bool {
	return l.Bucket() != other.Bucket() || l.query == other.query
}

// Join appends names. "../" leads no further up than to the bucket.
func (l Location) Join(names ...string) Location {
	if !l.IsRemote() {
		l.name = filepath.Join(append([]string{l.name}, names...)...)
		return l
	}
	l.name = strings.TrimPrefix(path.Join(append([]string{"/", l.name}, names...)...), "/")
	return l
}

// Suffix appends an ending to the last name.
func (l Location) Suffix(ending string) Location {
	l.name += ending
	return l
}

// Abs makes a relative path absolute.
func (l Location) Abs() (Location, error) {
	if l.IsRemote() {
		return l, nil
	}
	path, err := filepath.Abs(l.name)
	return File(path), err
}

// Base returns the last name.
func (l Location) Base() string {
	if !l.IsRemote() {
		return filepath.Base(l.name)
	}
	return path.Base("/" + l.name)
}

// Ext returns the extension of the last name, with the dot.
func (l Location) Ext() string { return path.Ext(l.Base()) }

// Dir returns what is before the last name.
func (l Location) Dir() Location {
	if !l.IsRemote() {
		l.name = filepath.Dir(l.name)
		return l
	}
	l.name = strings.TrimPrefix(path.Dir("/"+l.name), "/")
	return l
}

// Rel returns the path of a location below l, with slashes. ok is false if it is not below.
func (l Location) Rel(below Location) (name string, ok bool) {
	if l.IsRemote() {
		name, ok = strings.CutPrefix(below.name, l.name+"/")
		if l.name == "" {
			name, ok = below.name, true
		}
		return name, ok && l.Bucket() == below.Bucket()
	}
	name, err := filepath.Rel(l.name, below.name)
	return filepath.ToSlash(name), err == nil && filepath.IsLocal(name) && !below.IsRemote()
}
