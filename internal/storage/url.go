package storage

import (
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
)

// place is a parsed path or URL.
type place struct {
	scheme string // fileScheme for local paths
	host   string // the bucket
	name   string // of an object or a prefix; a path if local
	query  string
}

// String is the place without its parameters.
func (p place) String() string {
	if p.local() {
		return p.name
	}
	if p.name == "" {
		return p.scheme + "://" + p.host
	}
	return p.scheme + "://" + p.host + "/" + p.name
}

func (p place) url() string {
	if p.query == "" {
		return p.String()
	}
	return p.String() + "?" + p.query
}

func (p place) local() bool { return p.scheme == fileScheme }

var urlForm = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9+.-]+://`)

// IsURL reports whether a path has the form of a URL: a scheme of at least two letters and "://".
func IsURL(path string) bool { return urlForm.MatchString(path) }

// IsRemote reports whether a path is a URL of another scheme than file, in either form.
func IsRemote(path string) bool { return !parse(path).local() }

// LocalPath returns the path of a local file: of file:///folder/name it is /folder/name, and other local paths stay as
// they are. A remote URL has none; ok is false.
func LocalPath(path string) (local string, ok bool) {
	p := parse(path)
	return p.name, p.local()
}

// Shown returns a path or URL as errors, reports and files may show it: without parameters.
func Shown(path string) string {
	if p := parse(path); !p.local() {
		return p.String()
	}
	return path
}

func parse(text string) place {
	if !IsURL(text) {
		if p, ok := parsePath(text); ok {
			return p
		}
		return place{scheme: fileScheme, name: text}
	}
	scheme, rest, _ := strings.Cut(text, "://")
	p := place{scheme: strings.ToLower(scheme)}
	if p.local() { // the authority of a file URL is empty or this machine
		p.name = strings.TrimPrefix(rest, "localhost")
		return p
	}
	rest, p.query, _ = strings.Cut(rest, "?")
	p.host, p.name, _ = strings.Cut(rest, "/")
	if at := strings.LastIndexByte(p.host, '@'); at >= 0 { // a password is no part of a bucket
		p.host = p.host[at+1:]
	}
	p.name = strings.Trim(p.name, "/")
	if p.query == "" {
		p.query = parametersOf(p)
	}
	return p
}

// Join appends names to a path or a URL, before the parameters of that. The form of the path stays.
func Join(base string, names ...string) string {
	p := parse(base)
	if p.local() {
		joined := filepath.Join(append([]string{p.name}, names...)...)
		if IsURL(base) {
			return fileScheme + "://" + joined
		}
		return joined
	}
	p.name = strings.TrimPrefix(path.Join(append([]string{p.name}, names...)...), "/")
	return p.as(base)
}

// as writes a place in the form of a URL or path.
func (p place) as(form string) string {
	if IsURL(form) {
		return p.url()
	}
	return p.path()
}

// path is the second form.
func (p place) path() string {
	return strings.TrimSuffix("/"+p.scheme+":/"+p.host+"/"+p.name, "/")
}

// Base returns the last name of a path or URL.
func Base(url string) string {
	p := parse(url)
	if p.local() {
		return filepath.Base(p.name)
	}
	return path.Base("/" + p.name)
}

// Dir returns what is before the last name of a path or URL, with the parameters.
func Dir(url string) string {
	p := parse(url)
	if p.local() {
		return filepath.Dir(p.name)
	}
	p.name = strings.TrimPrefix(path.Dir("/"+p.name), "/")
	return p.as(url)
}

// A remote place has a second form, the path /s3:/bucket/name. It is absolute and clean, so package filepath joins and
// splits it like a local one. The parameters of its URL are kept beside it, by bucket.
var pathForm = regexp.MustCompile(`^/([a-z][a-z0-9+.-]+):(?:/|$)`)

var parameters = struct {
	sync.Mutex
	of map[string]string // queries by scheme://bucket
}{of: map[string]string{}}

// parsePath parses the second form.
func parsePath(text string) (p place, ok bool) {
	match := pathForm.FindStringSubmatch(text)
	if match == nil || !supported(match[1]) {
		return p, false
	}
	p.scheme = match[1]
	p.host, p.name, _ = strings.Cut(strings.Trim(text[len(match[0]):], "/"), "/")
	p.query = parametersOf(p)
	return p, true
}

func parametersOf(p place) string {
	parameters.Lock()
	defer parameters.Unlock()
	return parameters.of[p.scheme+"://"+p.host]
}

var anyPathForm = regexp.MustCompile(`/(s3|gs|azblob|mem):/+`)

// ShownIn replaces paths of the second form in a text by URLs.
func ShownIn(text string) string { return anyPathForm.ReplaceAllString(text, "$1://") }
