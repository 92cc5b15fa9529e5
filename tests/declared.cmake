# SPDX-License-Identifier: LGPL-2.1-or-later
#
# Test scripts say themselves how ctest is to run them. A line of a script
#
#   # test: [LABEL...] [KEY=VALUE...]
#
# is one test; without such a line a script is one test with the label of its room. Labels: core (a change breaks these first:
# part of tests/run without options, and first in --all), extra (of --all, the last if there is time), thorough (only of
# tests/run --thorough), turn (likewise, but on the kernel VMWSS_TURN also of --all: old ones take turns), tcg, libvirt, and
# serial, of which one runs at a time. Keys, of which lists have commas:
#
#   name=NAME     instead of the script's own
#   args=LIST     arguments of the script; @BUILD@ is the build directory, here and below, @ROOT@ the checkout
#   limit=S       time limit (1500; in the lab 2400)
#   cost=S        how long it takes on two cores: the longest begins first
#   lock=LIST     tests with a lock in common do not run at the same time
#   needs=LIST    files without which it cannot run
#   lab=LIST      once in the lab with each of these kernels
#   options=LIST  of vm-images/lab/lab
set(declared_labels core extra thorough turn tcg libvirt serial)
set(VMWSS_TURN "" CACHE STRING "The lab's kernel whose tests labelled turn are not only thorough")
set(declared_keys name args limit cost lock needs lab options)

# Lint and fuzz begin first, then labs and what is serial, then scripts, the longest first.
set(rank_lint 30000)
set(rank_fuzz 30000)
set(rank_lab 10000)
set(rank_serial 10000)

# tests/run gives ctest six processors on two cores, see slots_at_once there. A lab's CPU is busy, and a guest beside two labs
# gets too little to touch its working set in time; a script of integration mostly waits, for its guests rest.
set(processors_lab 3)
set(processors_integration 1)
set(processors_bare 2)
set(processors_fuzz 3)

# Logs of this build's tests, one for each.
set(test_logs ${CMAKE_BINARY_DIR}/Testing/logs)

# declared_read(SCRIPT LINE): sets labels, and d_KEY for each key, in the caller.
function(declared_read script line)
    set(labels "")
    foreach(key IN LISTS declared_keys)
        set(d_${key} "" PARENT_SCOPE)
    endforeach()
    string(REGEX REPLACE "^# test: *" "" words "${line}")
    string(REGEX REPLACE " +" ";" words "${words}")
    foreach(word IN LISTS words)
        if(word MATCHES "^([a-z]+)=(.+)$" AND CMAKE_MATCH_1 IN_LIST declared_keys)
            set(key ${CMAKE_MATCH_1})
            string(REPLACE "," ";" value "${CMAKE_MATCH_2}")
            string(REPLACE "@BUILD@" "${CMAKE_BINARY_DIR}" value "${value}")
            string(REPLACE "@ROOT@" "${CMAKE_SOURCE_DIR}" value "${value}")
            set(d_${key} "${value}" PARENT_SCOPE)
        elseif(word IN_LIST declared_labels)
            list(APPEND labels ${word})
        else()
            message(FATAL_ERROR "${script}: \"${line}\": ${word} is no label (${declared_labels}) and no key (${declared_keys})")
        endif()
    endforeach()
    set(labels "${labels}" PARENT_SCOPE)
endfunction()

# declared_add(NAME ROOM SCRIPT RUNNER-OPTION...): one test, of what the caller has read.
function(declared_add name room script)
    set(limit ${d_limit})
    if(NOT limit)
        set(limit 1500)
    endif()
    set(twice 1)
    if(room STREQUAL "lab")
        set(twice 2)
    endif()
    if(NOT d_cost)
        set(d_cost 60)
    endif()
    set(rank 0${rank_${room}})
    if("serial" IN_LIST labels)
        set(rank ${rank_serial})
    endif()
    math(EXPR cost "${rank} + ${d_cost}")
    # The runner ends a test in time, and lets it clean up; ctest's own limit is for a runner that hangs, at a patience of two.
    math(EXPR ctest_limit "(${limit} * 2 + 120) * ${twice}")
    # Measurements of TCG guests go before all others, and guests come last. A lab does what a script and its guest do, and
    # takes longest; other scripts have work to do, as a browser has.
    set(niceness 0)
    if(room STREQUAL "integration" AND "tcg" IN_LIST labels)
        set(niceness -10)
    elseif(NOT room STREQUAL "bare")
        set(niceness -5)
    endif()
    add_test(NAME ${name} WORKING_DIRECTORY ${CMAKE_SOURCE_DIR}
             # The test ends when ctest does, however that ended.
             COMMAND ${CMAKE_SOURCE_DIR}/tests/lib/reaper.py --nice ${niceness}
                     bash ${CMAKE_SOURCE_DIR}/tests/lib/run_test --logs ${test_logs} --limit ${limit} ${ARGN} ${name} ${script} ${d_args})
    if("serial" IN_LIST labels)
        list(APPEND d_lock truth)
    endif()
    set_tests_properties(${name} PROPERTIES LABELS "${room};${labels}" COST ${cost} TIMEOUT ${ctest_limit} SKIP_RETURN_CODE 77
                         PROCESSORS ${processors_${room}} RESOURCE_LOCK "${d_lock}" REQUIRED_FILES "${d_needs}" ENVIRONMENT "BUILD=${CMAKE_BINARY_DIR}")
    # These start as many processes as there are cores, and guests would be late.
    if(NOT room STREQUAL "fuzz")
        set_tests_properties(${name} PROPERTIES DEPENDS "lint;fuzz")
    endif()
endfunction()

# declared_tests(ROOM SCRIPT...): what these scripts declare. Those of the lab all say with which kernels.
function(declared_tests room)
    foreach(script IN LISTS ARGN)
        set_property(DIRECTORY ${CMAKE_SOURCE_DIR} APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${script})
        get_filename_component(script_name ${script} NAME)
        string(REGEX REPLACE "\\.sh$" "" script_name ${script_name})
        file(STRINGS ${script} lines REGEX "^# test: ")
        if(NOT lines)
            set(lines "# test: ")
        endif()
        foreach(line IN LISTS lines)
            declared_read(${script} "${line}")
            if(NOT d_name)
                set(d_name ${script_name})
            endif()
            foreach(kernel IN LISTS d_lab)
                if(NOT d_limit)
                    set(d_limit 2400)
                endif()
                set(lab_options "")
                foreach(option IN LISTS d_options)
                    list(APPEND lab_options --option=${option})
                endforeach()
                set(declared ${labels})
                if("turn" IN_LIST labels AND NOT kernel STREQUAL VMWSS_TURN)
                    list(APPEND labels thorough)
                endif()
                declared_add(lab.${kernel}.${d_name} lab ${script} --lab ${kernel} ${lab_options})
                set(labels ${declared})
            endforeach()
            if(NOT d_lab AND room STREQUAL "lab")
                message(FATAL_ERROR "${script}: needs a line \"# test: lab=KERNEL[,KERNEL...]\", see tests/declared.cmake")
            elseif(NOT d_lab AND "${d_name}" STREQUAL "${room}")
                declared_add(${room} ${room} ${script})
            elseif(NOT d_lab)
                declared_add(${room}.${d_name} ${room} ${script})
            endif()
        endforeach()
    endforeach()
endfunction()
