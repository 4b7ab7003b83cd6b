package decisionlog

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
)

// A line is a JSON object whose last key is the checksum of everything before it:
//
//	{"id":"...", ... ,"crc":"0badcafe"}
//
// so a line that was cut off or overwritten never passes.
const (
	crcKey  = `,"crc":"`
	crcSize = len(crcKey) + 8 + len("\"}")
	maxLine = 4 << 20 // bytes; a record with the most features needs a tenth
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// errDamaged means that the checksum of a line does not fit.
var errDamaged = errors.New("the line is damaged")

// seal ends a line that starts at from and has no checksum yet.
func seal(dst []byte, from int) []byte {
	return append(appendSum(dst, crc32.Checksum(dst[from:], castagnoli)), '\n')
}

// unseal returns a line, which has no line end, without its checksum and the closing brace.
func unseal(line []byte) ([]byte, error) {
	if len(line) < crcSize {
		return nil, errDamaged
	}
	body := line[:len(line)-crcSize]
	var end [crcSize]byte
	if !bytes.Equal(line[len(body):], appendSum(end[:0], crc32.Checksum(body, castagnoli))) {
		return nil, errDamaged
	}
	return body, nil
}

// appendSum writes the last key of a line.
func appendSum(dst []byte, sum uint32) []byte {
	const digits = "0123456789abcdef"
	dst = append(dst, crcKey...)
	for shift := 28; shift >= 0; shift -= 4 {
		dst = append(dst, digits[sum>>shift&15])
	}
	return append(dst, "\"}"...)
}

// lineKind says what a line holds, by its first key.
type lineKind int

const (
	unknownLine lineKind = iota
	headLine
	policyLine
	recordLine
)

func kindOf(body []byte) lineKind {
	for kind, start := range [...]string{headLine: `{"format":`, policyLine: `{"policy":`, recordLine: `{"id":`} {
		if start != "" && bytes.HasPrefix(body, []byte(start)) {
			return lineKind(kind)
		}
	}
	return unknownLine
}

// head is the first line of a segment.
type head struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
	Segment int    `json:"segment"`
}

// headVersion is the version of the lines that this package writes.
const headVersion = 1

func appendHead(dst []byte, stream string, number int) []byte {
	from := len(dst)
	dst = fmt.Appendf(dst, `{"format":"pipe %s","version":%d,"segment":%d`, stream, headVersion, number)
	return seal(dst, from)
}

// readHead checks the first line of a segment.
func readHead(body []byte, stream string) error {
	var h head
	if err := json.Unmarshal(closed(body), &h); err != nil {
		return err
	}
	if h.Format != "pipe "+stream {
		return fmt.Errorf("holds %q instead of %s", h.Format, stream)
	}
	if h.Version != headVersion {
		return fmt.Errorf("has version %d of the log; this program reads %d", h.Version, headVersion)
	}
	return nil
}

func appendPolicy(dst []byte, p *PolicyInfo) ([]byte, error) {
	b, err := json.Marshal(p)
	if err != nil {
		return dst, err
	}
	from := len(dst)
	dst = append(append(dst, `{"policy":`...), b...)
	return seal(dst, from), nil
}

func readPolicy(body []byte) (*PolicyInfo, error) {
	var in struct {
		Policy *PolicyInfo `json:"policy"`
	}
	if err := json.Unmarshal(closed(body), &in); err != nil {
		return nil, err
	}
	if in.Policy == nil {
		return nil, errors.New("the line has no policy")
	}
	return in.Policy, nil
}

// closed is the body of a line as a complete JSON object.
func closed(body []byte) []byte { return append(bytes.Clone(body), '}') }
