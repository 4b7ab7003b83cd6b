package grade

import (
	"math/big"
	"strings"
	"unicode"
	"unicode/utf8"
)

// numberForm says how numbers are written.
type numberForm struct {
	comma      bool // the decimal sign is a comma, not a point
	fractions  bool // 3/4 is one number
	hundredths bool // 5% is 0.05, not 5
}

// literal is a number as a text has it.
type literal struct {
	negative     bool
	whole, part  string // digits before and after the decimal sign; whole may have separators of thousands
	exponent     int
	above, below string // digits of a fraction that is added; "": none
	percent      bool
}

// Limits of a number, so that its exact value stays small. Longer ones are not numbers.
const (
	mostDigits   = 400
	mostExponent = 400
)

// value returns the exact value, nil if the literal is too large.
func (l literal) value(form numberForm) *big.Rat {
	whole := digitsOf(l.whole)
	if len(whole)+len(l.part)+len(l.above)+len(l.below) > mostDigits || l.exponent > mostExponent || l.exponent < -mostExponent {
		return nil
	}
	v := ratOf(whole + l.part)
	v.Mul(v, powerOfTen(l.exponent-len(l.part)))
	if l.above != "" {
		v.Add(v, new(big.Rat).Quo(ratOf(l.above), ratOf(l.below)))
	}
	if l.percent && form.hundredths {
		v.Mul(v, powerOfTen(-2))
	}
	if l.negative {
		v.Neg(v)
	}
	return v
}

// ratOf is the value of digits; none are 0.
func ratOf(digits string) *big.Rat {
	n, _ := new(big.Int).SetString("0"+digits, 10)
	return new(big.Rat).SetInt(n)
}

func powerOfTen(n int) *big.Rat {
	size := max(n, -n)
	p := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(size)), nil))
	if n < 0 {
		p.Inv(p)
	}
	return p
}

// each calls take for the numbers of a text, in order, until it returns false. Digits within words, such as H2O, and
// runs such as 1.2.3 are not numbers.
func (form numberForm) each(text string, take func(literal) bool) {
	s := scanner{form, text, 0}
	for s.at < len(text) {
		l, ok := s.next()
		if ok && !take(l) {
			return
		}
	}
}

// scanner walks through a text.
type scanner struct {
	form numberForm
	text string
	at   int
}

// next advances by one number, one word or one character. ok says that it was a number.
func (s *scanner) next() (l literal, ok bool) {
	start := s.at
	switch r, size := utf8.DecodeRuneInString(s.text[s.at:]); {
	case isDigit(s.byte(0)) || s.byte(0) == s.point() && isDigit(s.byte(1)):
		return s.number()
	case s.latexFraction(&l):
		l.negative = s.minus(start)
		return s.percent(l), true
	case vulgar[r] != [2]string{}:
		l.negative, l.above, l.below = s.minus(start), vulgar[r][0], vulgar[r][1]
		s.at += size
		return s.percent(l), true
	case isJoined(r):
		s.word()
	default:
		s.at += size
	}
	return l, false
}

// word skips letters of scripts that separate words, and the digits among them, as in H2O and v1.2.
func (s *scanner) word() {
	for s.at < len(s.text) {
		r, size := utf8.DecodeRuneInString(s.text[s.at:])
		inside := r == '.' && isDigit(s.text[s.at-1]) && isDigit(s.byte(1))
		if !isJoined(r) && !isDigit(byte(min(r, utf8.RuneSelf))) && !inside {
			return
		}
		s.at += size
	}
}

// isJoined reports letters of scripts in which a digit after a letter belongs to the word.
func isJoined(r rune) bool {
	return unicode.In(r, unicode.Latin, unicode.Greek, unicode.Cyrillic) && unicode.IsLetter(r)
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }

// byte returns a byte ahead, 0 after the end.
func (s *scanner) byte(ahead int) byte {
	if s.at+ahead < len(s.text) {
		return s.text[s.at+ahead]
	}
	return 0
}

// point is the decimal sign.
func (s *scanner) point() byte {
	if s.form.comma {
		return ','
	}
	return '.'
}

// number reads the number that begins here.
func (s *scanner) number() (l literal, ok bool) {
	start := s.at
	l.negative = s.minus(start)
	l.whole = s.whole()
	if s.byte(0) == s.point() && isDigit(s.byte(1)) {
		s.at++
		l.part = s.digits()
	}
	if s.byte(0) == s.point() && isDigit(s.byte(1)) { // a version, a date
		for s.byte(0) == s.point() && isDigit(s.byte(1)) {
			s.at++
			s.digits()
		}
		return l, false
	}
	s.exponent(&l)
	inDate := start > 0 && s.text[start-1] == '/'
	if l.part == "" && l.exponent == 0 && !inDate && !s.fraction(&l) {
		return l, false
	}
	return s.percent(l), true
}

// digits reads a run of digits.
func (s *scanner) digits() string {
	from := s.at
	for isDigit(s.byte(0)) {
		s.at++
	}
	return s.text[from:s.at]
}

// whole reads digits with separators of thousands: groups of three after at most three digits, all with one separator.
func (s *scanner) whole() string {
	from := s.at
	if first := s.digits(); len(first) > 3 || first == "" {
		return s.text[from:s.at]
	}
	separator := s.separator()
	for separator != "" && strings.HasPrefix(s.text[s.at:], separator) && s.group(len(separator)) {
		s.at += len(separator) + 3
	}
	return s.text[from:s.at]
}

// group reports whether exactly three digits follow a separator.
func (s *scanner) group(skip int) bool {
	return isDigit(s.byte(skip)) && isDigit(s.byte(skip+1)) && isDigit(s.byte(skip+2)) && !isDigit(s.byte(skip+3))
}

// separator returns the separator of thousands here, "" if there is none.
func (s *scanner) separator() string {
	list := []string{",", "'", "\u2019", "\u00a0", "\u202f"}
	if s.form.comma {
		list[0] = "."
	}
	for _, c := range list {
		if strings.HasPrefix(s.text[s.at:], c) {
			return c
		}
	}
	return ""
}

// minus reports whether a minus sign stands before the number that starts at a place. A hyphen after a letter, a digit
// or a closing bracket joins or subtracts. A sign of money may stand in between.
func (s *scanner) minus(start int) bool {
	before := s.text[:start]
	sign, size := utf8.DecodeLastRuneInString(before)
	if unicode.Is(unicode.Sc, sign) {
		before = strings.TrimSuffix(before[:len(before)-size], `\`)
		sign, size = utf8.DecodeLastRuneInString(before)
	}
	if sign != '-' && sign != '\u2212' {
		return false
	}
	r, _ := utf8.DecodeLastRuneInString(before[:len(before)-size])
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune(")]}%", r)
}

// exponent reads e5 or × 10^5.
func (s *scanner) exponent(l *literal) {
	at := s.at
	if c := s.byte(0); c == 'e' || c == 'E' {
		s.at++
	} else if !s.timesTen() {
		s.at = at
		return
	}
	braced := s.skip("{")
	negative := s.skip("-") || s.skip("\u2212")
	if !negative {
		s.skip("+")
	}
	digits := s.digits()
	next, _ := utf8.DecodeRuneInString(s.text[s.at:])
	if digits == "" || braced && !s.skip("}") || isJoined(next) {
		s.at = at
		return
	}
	for _, d := range strings.TrimLeft(digits, "0") {
		l.exponent = min(10*l.exponent+int(d-'0'), mostExponent+1)
	}
	if negative {
		l.exponent = -l.exponent
	}
}

// timesTen skips × 10^ in one of its spellings.
func (s *scanner) timesTen() bool {
	s.spaces()
	for _, sign := range []string{"×", `\times`, `\cdot`, "·", "*", "x"} {
		if s.skip(sign) {
			s.spaces()
			return s.skip("10^") || s.skip("10**")
		}
	}
	return false
}

func (s *scanner) spaces() {
	for s.byte(0) == ' ' {
		s.at++
	}
}

// skip skips a text if it is here.
func (s *scanner) skip(text string) bool {
	if !strings.HasPrefix(s.text[s.at:], text) {
		return false
	}
	s.at += len(text)
	return true
}

// fraction reads what makes a whole number a fraction (3/4), or what is added to it (1 1/2). It is false for a fraction
// with 0 below, which is no number.
func (s *scanner) fraction(l *literal) bool {
	at := s.at
	s.skip(" ")
	if above, below, ok := s.added(); ok {
		l.above, l.below = above, below
		return true
	}
	s.at = at
	if !s.form.fractions || !(s.skip("/") || s.skip("\u2044")) || !isDigit(s.byte(0)) {
		s.at = at
		return true
	}
	below := s.digits()
	if s.byte(0) == '/' || s.byte(0) == s.point() && isDigit(s.byte(1)) { // a date, a quotient
		s.at = at
		return true
	}
	if isZero(below) {
		return false
	}
	l.above, l.below, l.whole = digitsOf(l.whole), below, ""
	return true
}

// added reads a fraction after a whole number: ½, \frac{1}{2}, or 1/2 with the smaller number above.
func (s *scanner) added() (above, below string, ok bool) {
	var l literal
	r, size := utf8.DecodeRuneInString(s.text[s.at:])
	if v := vulgar[r]; v != [2]string{} {
		s.at += size
		return v[0], v[1], true
	}
	if s.latexFraction(&l) {
		return l.above, l.below, true
	}
	if !s.form.fractions || s.at == 0 || s.text[s.at-1] != ' ' {
		return "", "", false
	}
	if above = s.digits(); above == "" || !s.skip("/") {
		return "", "", false
	}
	below = s.digits()
	if below == "" || s.byte(0) == '/' || len(above)+len(below) > mostDigits {
		return "", "", false
	}
	return above, below, ratOf(above).Cmp(ratOf(below)) < 0
}

// latexFraction reads \frac{3}{4}.
func (s *scanner) latexFraction(l *literal) bool {
	at := s.at
	if s.byte(0) != '\\' || !s.form.fractions {
		return false
	}
	if s.skip(`\frac{`) || s.skip(`\dfrac{`) || s.skip(`\tfrac{`) {
		l.above = s.digits()
		if s.skip("}{") {
			l.below = s.digits()
		}
		if l.above != "" && !isZero(l.below) && s.skip("}") {
			return true
		}
	}
	s.at, l.above, l.below = at, "", ""
	return false
}

// percent reads a percent sign.
func (s *scanner) percent(l literal) literal {
	at := s.at
	s.skip(" ")
	l.percent = s.skip("%") || s.skip(`\%`)
	if !l.percent {
		s.at = at
	}
	return l
}

func isZero(digits string) bool { return strings.Trim(digits, "0") == "" }

func digitsOf(whole string) string {
	return strings.Map(func(r rune) rune {
		if r < '0' || r > '9' {
			return -1
		}
		return r
	}, whole)
}

// vulgar are the fractions that are one character.
var vulgar = map[rune][2]string{
	'½': {"1", "2"}, '⅓': {"1", "3"}, '⅔': {"2", "3"}, '¼': {"1", "4"}, '¾': {"3", "4"}, '⅕': {"1", "5"},
	'⅖': {"2", "5"}, '⅗': {"3", "5"}, '⅘': {"4", "5"}, '⅙': {"1", "6"}, '⅚': {"5", "6"}, '⅛': {"1", "8"},
	'⅜': {"3", "8"}, '⅝': {"5", "8"}, '⅞': {"7", "8"},
}
