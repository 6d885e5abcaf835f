package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// mutant is one change of the code.
type mutant struct {
	id     int
	file   string
	line   int
	column int
	change string // such as "< → <="
}

// mutation inserts all mutants of a package into its files, so that one build is enough. An
// environment variable enables one of them.
type mutation struct {
	fset    *token.FileSet
	info    *types.Info
	mutants []mutant
}

// edit replaces the text between two offsets of a file.
type edit struct {
	from, to int
	text     string
}

// fileEdits collects the edits to a file. At the same offset, the outermost edit opens first and closes last.
type fileEdits struct {
	opens, closes []edit
}

func (e *fileEdits) open(at int, text string) { e.opens = append(e.opens, edit{at, at, text}) }
func (e *fileEdits) replace(from, to int, text string) {
	e.opens = append(e.opens, edit{from, to, text})
}
func (e *fileEdits) close(at int, text string)             { e.closes = append(e.closes, edit{at, at, text}) }
func (e *fileEdits) wrap(from, to int, left, right string) { e.open(from, left); e.close(to, right) }

func (e *fileEdits) apply(source []byte) string {
	slices.Reverse(e.closes)
	edits := append(slices.Clone(e.closes), e.opens...)
	slices.SortStableFunc(edits, func(a, b edit) int { return a.from - b.from })
	var out strings.Builder
	at := 0
	for _, edit := range edits {
		out.Write(source[at:edit.from])
		out.WriteString(edit.text)
		at = edit.to
	}
	out.Write(source[at:])
	return out.String()
}

// rewrite returns the source of a file with its mutants.
func (m *mutation) rewrite(file *ast.File, source []byte) string {
	edits := &fileEdits{}
	var parents []ast.Node
	ast.Inspect(file, func(node ast.Node) bool {
		if node == nil {
			parents = parents[:len(parents)-1]
			return true
		}
		if constant(node) {
			return false
		}
		m.mutate(node, parents, edits, source)
		parents = append(parents, node)
		return true
	})
	return edits.apply(source)
}

// constant reports whether a node declares imports, constants, or types, which cannot contain mutants.
func constant(node ast.Node) bool {
	decl, ok := node.(*ast.GenDecl)
	return ok && decl.Tok != token.VAR
}

func (m *mutation) mutate(node ast.Node, parents []ast.Node, edits *fileEdits, source []byte) {
	switch node := node.(type) {
	case *ast.BinaryExpr:
		if !m.info.Types[node].IsType() {
			m.binary(node, edits)
		}
	case *ast.UnaryExpr:
		if node.Op == token.SUB && m.info.Types[node].Value == nil {
			id := m.add(node.OpPos, "- → +")
			edits.replace(m.offset(node.OpPos), m.offset(node.X.Pos()), fmt.Sprintf("mutantNegative(%d, ", id))
			edits.close(m.offset(node.End()), ")")
		}
	case *ast.IncDecStmt:
		m.step(node, edits, source)
	case *ast.AssignStmt:
		m.assignment(node, edits, source)
	case *ast.BranchStmt:
		m.branch(node, parents, edits)
	case *ast.FuncDecl:
		m.end(node.Type, node.Body, edits)
	case *ast.FuncLit:
		m.end(node.Type, node.Body, edits)
	}
}

// end adds a statement to the end of a function with results. Otherwise, a function that ends with
// an endless loop would not compile when a mutant adds a break to the loop.
func (m *mutation) end(function *ast.FuncType, body *ast.BlockStmt, edits *fileEdits) {
	if function.Results != nil && body != nil {
		edits.close(m.offset(body.Rbrace), `; panic("unreachable") `)
	}
}

// operator holds the mutants of a binary operator. Except for negated, each mutant calls the given function of
// mutant_switch.go.
type operator struct {
	function                               string
	negated, boundary, logical, arithmetic token.Token
}

func operators() map[token.Token]operator {
	return map[token.Token]operator{
		token.EQL:  {negated: token.NEQ},
		token.NEQ:  {negated: token.EQL},
		token.LSS:  {function: "mutantLess", negated: token.GEQ, boundary: token.LEQ},
		token.LEQ:  {function: "mutantLessOrEqual", negated: token.GTR, boundary: token.LSS},
		token.GTR:  {function: "mutantGreater", negated: token.LEQ, boundary: token.GEQ},
		token.GEQ:  {function: "mutantGreaterOrEqual", negated: token.LSS, boundary: token.GTR},
		token.LAND: {function: "mutantAnd", logical: token.LOR},
		token.LOR:  {function: "mutantOr", logical: token.LAND},
		token.ADD:  {function: "mutantArithmetic", arithmetic: token.SUB},
		token.SUB:  {function: "mutantArithmetic", arithmetic: token.ADD},
		token.MUL:  {function: "mutantArithmetic", arithmetic: token.QUO},
		token.QUO:  {function: "mutantArithmetic", arithmetic: token.MUL},
		token.REM:  {function: "mutantRemainder", arithmetic: token.MUL},
	}
}

func (m *mutation) binary(node *ast.BinaryExpr, edits *fileEdits) {
	from, to, op := m.offset(node.Pos()), m.offset(node.End()), m.offset(node.OpPos)
	after := op + len(node.Op.String())
	changeTo := func(other token.Token) int { return m.add(node.OpPos, node.Op.String()+" → "+other.String()) }

	change := operators()[node.Op]
	if change.negated != 0 {
		edits.wrap(from, to, "((", fmt.Sprintf(") != mutated(%d))", changeTo(change.negated)))
	}
	if change.boundary != 0 {
		edits.wrap(from, to, fmt.Sprintf("%s(%d, ", change.function, changeTo(change.boundary)), ")")
		edits.replace(op, after, ", ")
	}
	if change.logical != 0 {
		edits.wrap(from, to, fmt.Sprintf("%s(%d, ", change.function, changeTo(change.logical)), ") })")
		edits.replace(op, after, ", func() bool { return (")
	}
	// Skip strings, which do not support -.
	if change.arithmetic != 0 && m.isNumber(node) && m.info.Types[node].Value == nil {
		id := changeTo(change.arithmetic)
		edits.wrap(from, to, fmt.Sprintf("%s(%d, '%s', '%s', ", change.function, id, node.Op, change.arithmetic), ")")
		edits.replace(op, after, ", ")
	}
}

func (m *mutation) step(node *ast.IncDecStmt, edits *fileEdits, source []byte) {
	other := token.DEC
	if node.Tok == token.DEC {
		other = token.INC
	}
	counter := string(source[m.offset(node.X.Pos()):m.offset(node.X.End())])
	id := m.add(node.TokPos, node.Tok.String()+" → "+other.String())
	// Use a call, because only a simple statement can be the post statement of a loop.
	edits.wrap(m.offset(node.Pos()), m.offset(node.End()), fmt.Sprintf("func() { if mutated(%d) { %s%s; return }; ", id, counter, other), " }()")
}

func (m *mutation) assignment(node *ast.AssignStmt, edits *fileEdits, source []byte) {
	inverted := map[token.Token]token.Token{token.ADD_ASSIGN: token.SUB_ASSIGN, token.SUB_ASSIGN: token.ADD_ASSIGN, token.MUL_ASSIGN: token.QUO_ASSIGN, token.QUO_ASSIGN: token.MUL_ASSIGN}
	if node.Tok < token.ADD_ASSIGN || node.Tok > token.AND_NOT_ASSIGN {
		return
	}
	from, to := m.offset(node.Pos()), m.offset(node.End())
	others := []token.Token{token.ASSIGN}
	if other, ok := inverted[node.Tok]; ok && m.isNumber(node.Lhs[0]) {
		others = append(others, other)
	}
	left, right := string(source[from:m.offset(node.TokPos)]), string(source[m.offset(node.Rhs[0].Pos()):to])
	var before strings.Builder
	before.WriteString("func() { ")
	for _, other := range others {
		id := m.add(node.TokPos, node.Tok.String()+" → "+other.String())
		fmt.Fprintf(&before, "if mutated(%d) { %s %s %s; return }; ", id, left, other, right)
	}
	edits.wrap(from, to, before.String(), " }()")
}

// branch replaces a break with a continue inside a loop, or the reverse.
func (m *mutation) branch(node *ast.BranchStmt, parents []ast.Node, edits *fileEdits) {
	others := map[token.Token]token.Token{token.BREAK: token.CONTINUE, token.CONTINUE: token.BREAK}
	other, ok := others[node.Tok]
	if !ok || !inLoop(parents) {
		return
	}
	label := ""
	if node.Label != nil {
		label = " " + node.Label.Name
	}
	id := m.add(node.Pos(), node.Tok.String()+" → "+other.String())
	edits.wrap(m.offset(node.Pos()), m.offset(node.End()), fmt.Sprintf("{ if mutated(%d) { %s%s }; ", id, other, label), " }")
}

func inLoop(parents []ast.Node) bool {
	for _, parent := range slices.Backward(parents) {
		switch parent.(type) {
		case *ast.ForStmt, *ast.RangeStmt:
			return true
		case *ast.FuncLit, *ast.FuncDecl:
			return false
		}
	}
	return false
}

func (m *mutation) isNumber(expr ast.Expr) bool {
	basic, ok := m.info.TypeOf(expr).Underlying().(*types.Basic)
	return ok && basic.Info()&types.IsNumeric != 0
}

func (m *mutation) add(pos token.Pos, change string) int {
	at := m.fset.Position(pos)
	id := len(m.mutants) + 1
	m.mutants = append(m.mutants, mutant{id: id, file: at.Filename, line: at.Line, column: at.Column, change: change})
	return id
}

func (m *mutation) offset(pos token.Pos) int { return m.fset.Position(pos).Offset }
