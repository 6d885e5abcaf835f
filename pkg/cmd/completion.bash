
# What this script needs from the package bash-completion, for shells without it.
__kubectl-imoocpod_words()
{
    if declare -F _get_comp_words_by_ref >/dev/null 2>&1; then
        _get_comp_words_by_ref "$@"
        return
    fi
    read -ra words <<<"${COMP_LINE:0:$COMP_POINT}"
    [[ ${COMP_LINE:0:$COMP_POINT} != *[[:blank:]] ]] || words+=("")
    cword=$((${#words[@]} - 1))
    cur=${words[$cword]}
    prev=${words[$cword > 0 ? $cword - 1 : 0]}
}

__kubectl-imoocpod_files()
{
    if declare -F _filedir >/dev/null 2>&1; then
        _filedir "$@"
        return
    fi
    local IFS=$'\n' kind=-f
    [[ ${1-} != -d ]] || kind=-d
    COMPREPLY+=($(compgen "$kind" -- "$cur"))
}
