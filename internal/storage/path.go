package storage

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Path returns the form of a path or URL that the rest of the program uses: a local path as it is, that of a file URL,
// or /s3:/bucket/name for a remote one. The parameters of a URL hold from then on for all paths of its bucket that are
// given without. A URL that is mistyped, a scheme that is not known, and other parameters for the same bucket, are an *Error.
func Path(pathOrURL string) (string, error) {
	if !IsURL(pathOrURL) {
		return pathOrURL, mistyped(pathOrURL)
	}
	p := parse(pathOrURL)
	if p.local() {
		if !strings.HasPrefix(p.name, "/") {
			return "", refused(pathOrURL, "a file URL names no machine and has the whole path", "write file:///folder/name, or the path alone")
		}
		return p.name, nil
	}
	if !supported(p.scheme) {
		return "", unknownScheme(p)
	}
	if p.host == "" {
		return "", refused(p.String(), "the URL names no bucket", "write "+p.scheme+"://BUCKET/NAME")
	}
	if p.name != "" && slices.ContainsFunc(strings.Split(p.name, "/"), func(part string) bool { return part == "" || part == "." || part == ".." }) {
		return "", refused(p.String(), `a part of the name is empty, "." or ".."`, "pipe cannot reach objects of such names: rename them, or correct the URL")
	}
	if err := remember(p); err != nil {
		return "", err
	}
	return p.path(), nil
}

func refused(url, msg, advice string) error {
	return &Error{Op: "open", URL: url, Err: fmt.Errorf("%s", msg), Advice: advice}
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

// Paths is Path for several.
func Paths(pathsOrURLs []string) ([]string, error) {
	out := make([]string, len(pathsOrURLs))
	for i, p := range pathsOrURLs {
		var err error
		if out[i], err = Path(p); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func remember(p place) error {
	parameters.Lock()
	defer parameters.Unlock()
	bucket := p.scheme + "://" + p.host
	switch before, known := parameters.of[bucket]; {
	case p.query == "" || before == p.query:
	case known:
		return &Error{Op: "open", URL: bucket, Err: fmt.Errorf("the bucket is named twice with different parameters"), Advice: "use the same parameters in all its URLs"}
	default:
		parameters.of[bucket] = p.query
	}
	return nil
}
