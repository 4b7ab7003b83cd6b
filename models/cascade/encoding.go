package cascade

// Encoding makes a row of numbers of the features and of what was seen of the executed pairs: the features, then the
// numbers, the categories, the agreements, and what is known. Columns of what is seen are numbered pair*F + fact.
type Encoding struct {
	Dim     int         // width of the features, which come first
	Numbers []Number    // as they are, within the range that training saw
	Values  []Value     // 1 where a category has a value, else 0
	Agree   []Agreement // 1 where two pairs say the same, else 0
	Known   []int       // columns: 1 where the fact is known, else 0
}

// Number is a number that is seen of an answer.
type Number struct {
	Column    int
	Low, High float32 // it is clipped to
	Fill      float32 // where it is not known
}

// Value is one value of a category.
type Value struct {
	Column int
	Index  int // into Values of the fact
}

// Agreement compares two columns of one category.
type Agreement struct{ A, B int }

// Width is the number of values of an encoded state.
func (e Encoding) Width() int {
	return e.Dim + len(e.Numbers) + len(e.Values) + len(e.Agree) + len(e.Known)
}
