package storage

import "fmt"

// Path returns the form of a path or URL that the rest of the program uses: a local path as it is, that of a file URL,
// or /s3:/bucket/name for a remote one. The parameters of a URL hold from then on for all paths of its bucket that are
// given without. A scheme that is not known, and other parameters for the same bucket, are an *Error.
func Path(pathOrURL string) (string, error) {
	if !IsURL(pathOrURL) {
		return pathOrURL, nil
	}
	p := parse(pathOrURL)
	if p.local() {
		return p.name, nil
	}
	if !supported(p.scheme) {
		return "", unknownScheme(p)
	}
	if p.host == "" {
		return "", &Error{Op: "open", URL: p.String(), Err: fmt.Errorf("the URL names no bucket")}
	}
	if err := remember(p); err != nil {
		return "", err
	}
	return p.path(), nil
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
